//! The one way to run `git`: argv only, a pinned environment, hooks and helpers off.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Command;

use super::author::{author, author_variables};
use super::confined::confined;
use super::credential::RemoteCredential;
use super::environment::NetworkAccess;
use super::progress::last_words;
use super::public_host::{PublicHost, Unusable};
use super::shadow::{Ending, Shadow};
use super::version::always;
use super::{Error, RemoteFailure, Settings};
use branchyard_config::{Credential, WebHost};
use branchyard_process::{CaptureError, Captured, Confinement, Timeouts, capture, plain_command};
use branchyard_runtime::disk::{Moment, Room, Trash};

/// How long a command may take that says nothing of it. A worktree may hold a file that never ends, and its
/// lock is held meanwhile; a large store takes its time to be packed.
const LONGEST_IN_WORKTREE: Duration = Duration::from_secs(15 * 60);
const LONGEST: Duration = Duration::from_secs(2 * 60 * 60);

/// Enough for any porcelain listing that we parse.
const MAX_OUTPUT: usize = 64 * 1024 * 1024;

/// Builds git commands; cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    settings: Arc<Settings>,
    credential: Option<Arc<RemoteCredential>>,
    /// What commands that look at a worktree are confined by, or why they are not.
    confinement: Result<Confinement, Arc<str>>,
    /// The remote's host, where that must not be an inner one.
    public_host: Option<Arc<PublicHost>>,
    /// Where files go that commands replace.
    trash: Trash,
}

impl Git {
    /// Where there is a `confinement`, commands that look at a worktree run in it. Files that commands replace go to the
    /// `trash`.
    pub fn new(settings: Settings, confinement: Result<Confinement, String>, trash: Trash) -> Self {
        Self {
            settings: Arc::new(settings),
            credential: None,
            confinement: confinement.map_err(Arc::from),
            public_host: None,
            trash,
        }
    }

    /// For a repository in `dir`. Its trash is where no look at the files finds it.
    #[cfg(test)]
    pub fn for_tests(dir: &tempfile::TempDir) -> Self {
        let trash = dir.path().join(".git/trash");
        Self::new(
            Settings::for_tests(),
            Err("a test".to_owned()),
            Trash::open(trash, &Default::default()).unwrap(),
        )
    }

    /// Why commands that look at a worktree are not confined, if so.
    pub fn why_unconfined(&self) -> Option<&str> {
        self.confinement.as_ref().err().map(AsRef::as_ref)
    }

    /// For a repo whose builds may do all that the daemon's user may: what they leave in a worktree could do
    /// no more by git than they did themselves.
    #[must_use]
    pub fn unconfined(self) -> Self {
        Self {
            confinement: Err("builds of this repo have no sandbox".into()),
            ..self
        }
    }

    /// For a repo whose remote at `place` is opened by `credential`: every command that talks to the remote
    /// can show it, and no other gets it.
    #[must_use]
    pub fn with_credential(&self, place: WebHost, credential: Arc<Credential>) -> Self {
        Self {
            credential: Some(Arc::new(RemoteCredential::new(place, credential))),
            ..self.clone()
        }
    }

    /// For a repo whose remote has to be on the internet.
    #[must_use]
    pub fn with_public_host(&self, host: PublicHost) -> Self {
        Self {
            public_host: Some(Arc::new(host)),
            ..self.clone()
        }
    }

    /// Refuses a remote whose name leads to an inner address by now. To be asked before every command with the
    /// environment of [`NetworkAccess::Remote`]. A proxy looks names up by itself.
    pub async fn check_host(&self, verb: &str) -> Result<(), Error> {
        let (Some(host), None) = (&self.public_host, &self.settings.proxy) else {
            return Ok(());
        };
        let checked = host.check(self.settings.remote_timeout).await;
        checked.map_err(|Unusable { failure, why }| {
            failure.count(verb);
            Error::Remote {
                verb: verb.to_owned(),
                status: "not started".to_owned(),
                stderr: why,
                failure,
                credential: None,
            }
        })
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// How long a remote may take to list its refs.
    pub fn question_timeouts(&self) -> Timeouts {
        Timeouts {
            total: Some(self.settings.remote_timeout),
            stall: Some(self.settings.stall_timeout),
        }
    }

    /// How long a transfer may take.
    pub fn transfer_timeouts(&self) -> Timeouts {
        Timeouts {
            total: Some(self.settings.fetch_timeout),
            stall: Some(self.settings.stall_timeout),
        }
    }

    /// What a command that talked to the remote failed of.
    pub(super) fn remote_error(&self, verb: &str, done: &Captured) -> Error {
        // All of it: what ssh said comes before git's own complaint.
        let failure = RemoteFailure::of(&String::from_utf8_lossy(&done.stderr));
        failure.count(verb);
        Error::Remote {
            verb: verb.to_owned(),
            status: done.status.to_string(),
            stderr: last_words(&done.stderr),
            failure,
            credential: self.credential.as_ref().map(|used| used.setting()),
        }
    }

    /// A git command that runs in `dir`, which is no worktree of a build's: a store, or no repository.
    pub fn at(&self, dir: impl Into<PathBuf>) -> GitCommand {
        self.command(dir.into(), false)
    }

    /// A git command that looks at the files of the worktree at `dir`. A build may have put anything there, a
    /// repository with programs in its configuration included, so git works behind walls of its own.
    pub fn in_worktree(&self, dir: impl Into<PathBuf>) -> GitCommand {
        self.command(dir.into(), true)
    }

    fn command(&self, dir: PathBuf, in_worktree: bool) -> GitCommand {
        GitCommand {
            git: self.clone(),
            dir,
            in_worktree,
            reads: false,
            args: Vec::new(),
            env: Vec::new(),
            timeouts: Timeouts {
                total: Some(match in_worktree {
                    true => LONGEST_IN_WORKTREE,
                    false => LONGEST,
                }),
                stall: None,
            },
            remote: false,
            at_leisure: false,
            unheard: false,
            input: None,
        }
    }

    pub(super) fn credential(&self) -> &Option<Arc<RemoteCredential>> {
        &self.credential
    }

    /// Whether its remote has to be on the internet.
    pub fn must_be_public(&self) -> bool {
        self.public_host.is_some()
    }

    pub(super) fn public_host(&self) -> &Option<Arc<PublicHost>> {
        &self.public_host
    }

    pub(super) fn trash(&self) -> &Trash {
        &self.trash
    }
}

#[derive(Debug)]
pub struct GitCommand {
    git: Git,
    dir: PathBuf,
    in_worktree: bool,
    /// Changes nothing in the repository.
    reads: bool,
    args: Vec<OsString>,
    env: Vec<(&'static str, String)>,
    timeouts: Timeouts,
    remote: bool,
    at_leisure: bool,
    unheard: bool,
    input: Option<File>,
}

impl GitCommand {
    pub(super) fn settings(&self) -> &Settings {
        self.git.settings()
    }

    #[must_use]
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    #[must_use]
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args
            .extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    #[must_use]
    pub fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Leaves the index and its lock alone: a read must not disturb whoever works here.
    #[must_use]
    pub fn read_only(mut self, total: Duration) -> Self {
        self.timeouts.total = Some(total);
        self.reads = true;
        self.env("GIT_OPTIONAL_LOCKS", "0")
    }

    /// Takes paths for what they are: no glob, and no `:(magic)`.
    #[must_use]
    pub fn literal_paths(self) -> Self {
        self.env("GIT_LITERAL_PATHSPECS", "1")
    }

    /// Talks to the remote, which has to answer within `total` or `stall`.
    #[must_use]
    pub fn remote(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self.remote = true;
        self
    }

    /// Gives way to everyone else on the machine.
    #[must_use]
    pub fn at_leisure(mut self) -> Self {
        self.at_leisure = true;
        self
    }

    /// Is ended if it takes longer than this.
    #[must_use]
    pub fn within(mut self, total: Duration) -> Self {
        self.timeouts.total = Some(total);
        self
    }

    /// Nobody reads its standard output, so it has none: git writes there in the middle of its work, and
    /// would be ended by that if the daemon were gone by then.
    #[must_use]
    pub fn unheard(mut self) -> Self {
        self.unheard = true;
        self
    }

    /// Reads this file as its standard input.
    #[must_use]
    pub fn input(mut self, file: File) -> Self {
        self.input = Some(file);
        self
    }

    /// Output of a command that must succeed.
    pub async fn output(self) -> Result<Vec<u8>, Error> {
        self.output_with_progress(|_| {}).await
    }

    /// The same of one whose output says nothing.
    pub async fn run(self) -> Result<(), Error> {
        self.output().await.map(drop)
    }

    pub async fn output_with_progress(
        self,
        on_stderr: impl FnMut(&[u8]) + Send,
    ) -> Result<Vec<u8>, Error> {
        Ok(self.succeed(on_stderr).await?.0)
    }

    /// Output of a command that must succeed, and what it said on standard error all the same.
    pub async fn output_and_words(self) -> Result<(Vec<u8>, String), Error> {
        self.succeed(|_| {}).await
    }

    /// As [`GitCommand::output`], for a command that replaces files of its worktree, where those that git finds changed
    /// stay: see [`Shadow`].
    pub async fn change_files(self) -> Result<Vec<u8>, Error> {
        self.discard_files(Moment::now()).await
    }

    /// The same for a command that also replaces files which are changed. All that is worth it was saved when they were
    /// `seen`; what was written since is kept.
    pub async fn discard_files(self, seen: Moment) -> Result<Vec<u8>, Error> {
        let (dir, trash) = (self.dir.clone(), self.git.trash.clone());
        let begin = move || Ok::<_, Error>((Shadow::begin(&dir, seen, &trash)?, trash));
        let (Some(shadow), trash) = tokio::task::spawn_blocking(begin).await?? else {
            return self.output().await;
        };
        let mut command = self;
        for (name, path) in shadow.environment() {
            command = command.env(name, path.to_string_lossy());
        }
        let done = command.output().await;
        let ending = done.as_ref().map_or(Ending::Failed, |_| Ending::Complete);
        tokio::task::spawn_blocking(move || shadow.take_over(&trash, ending)).await??;
        done
    }

    async fn succeed(
        self,
        mut on_stderr: impl FnMut(&[u8]) + Send,
    ) -> Result<(Vec<u8>, String), Error> {
        let (verb, remote, dir) = (self.verb(), self.remote, self.dir.clone());
        let git = self.git.clone();
        // What runs at the root writes nothing.
        let shortage = || dir.parent().and_then(|_| Room::shortage_at(&dir));
        // Looked for with git's last words too: on its way out it may give back what it took.
        let mut seen = None;
        let watch = |bytes: &[u8]| {
            seen = shortage();
            on_stderr(bytes);
        };
        let most = if self.unheard { 0 } else { MAX_OUTPUT };
        let done = self.capture(most, watch).await?;
        let stderr = last_words(&done.stderr);
        if done.status.success() {
            return Ok((done.stdout, stderr));
        }
        let status = done.status.to_string();
        if let Some(shortage) = shortage().or(seen) {
            return Err(Error::DiskFull {
                verb,
                status,
                stderr,
                shortage: Box::new(shortage),
            });
        }
        Err(if remote {
            git.remote_error(&verb, &done)
        } else {
            let code = done.status.code();
            Error::Refused {
                verb,
                status,
                code,
                stderr,
            }
        })
    }

    /// Whatever the command says, whether it succeeds or not.
    pub async fn capture(
        mut self,
        max_stdout: usize,
        on_stderr: impl FnMut(&[u8]) + Send,
    ) -> Result<Captured, Error> {
        let mut command = self.program()?;
        if let Some(file) = self.input.take() {
            command.stdin(file);
        }
        let access = match self.remote {
            true => NetworkAccess::Remote,
            false => NetworkAccess::Here,
        };
        if self.remote {
            self.git.check_host(&self.verb()).await?;
        }
        let author = author();
        command
            .args(self.all_args())
            .envs(self.git.environment(&self.dir, access))
            .envs(author.iter().flat_map(author_variables))
            .envs(self.env.iter().map(|(name, value)| (*name, value)));
        let lease = match access {
            NetworkAccess::Remote => self.git.lease()?,
            NetworkAccess::Here => None,
        };
        if let Some(lease) = &lease {
            lease
                .handover
                .give(command.as_std_mut(), &self.git.settings.program)
                .map_err(Error::io("hand over a credential"))?;
        }
        tracing::debug!(dir = %self.dir.display(), args = ?self.args, "git");
        let memory = Some(self.git.settings.memory_for(self.reads));
        match capture(command, self.timeouts, memory, max_stdout, on_stderr).await {
            Err(CaptureError::TimedOut { after, .. }) if self.remote => {
                RemoteFailure::Timeout.count(&self.verb());
                Err(Error::RemoteTimedOut {
                    verb: self.verb(),
                    after,
                })
            }
            other => Ok(match lease {
                Some(lease) => lease.kept_out_of(other?),
                None => other?,
            }),
        }
    }

    /// Git, or what git is started by.
    fn program(&mut self) -> Result<Command, Error> {
        if self.in_worktree && self.dir.is_symlink() {
            let why = std::io::Error::other("a link stands where the workspace belongs");
            return Err(Error::io("start git in a workspace")(why));
        }
        if let Ok(confinement) = &self.git.confinement
            && self.in_worktree
        {
            let confined = confined(confinement, &self.dir, self.reads);
            let (mut command, dir) = confined.map_err(Error::io("confine git"))?;
            command.arg("git");
            self.dir = dir;
            return Ok(command);
        }
        Ok(match self.at_leisure {
            true => {
                let mut nice = plain_command("nice", &self.dir);
                nice.args(["-n", "19", "git"]);
                nice
            }
            false => plain_command("git", &self.dir),
        })
    }

    /// The arguments with what is always said to their command.
    pub(super) fn all_args(&self) -> Vec<&OsStr> {
        let (before, rest) = self.args.split_at(self.verb_at());
        let always = always(&self.verb()).iter().map(OsStr::new);
        let verb = rest.first().into_iter().map(OsString::as_os_str);
        let before = before.iter().map(OsString::as_os_str);
        let after = rest.iter().skip(1).map(OsString::as_os_str);
        before.chain(verb).chain(always).chain(after).collect()
    }

    /// Where the command's name is: after all settings.
    fn verb_at(&self) -> usize {
        let settings = self.args.chunks(2).take_while(|pair| pair[0] == "-c");
        (2 * settings.count()).min(self.args.len())
    }

    fn verb(&self) -> String {
        let verb = self.args.get(self.verb_at());
        verb.map_or_else(String::new, |verb| verb.to_string_lossy().into_owned())
    }
}
