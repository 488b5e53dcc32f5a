//! The one way to run `git`: argv only, a pinned environment, hooks and helpers off.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::Error;
use crate::disk::Room;
use crate::process::{CaptureError, Captured, Patience, capture, plain_command};

/// Enough for any porcelain listing that we parse.
const MAX_OUTPUT: usize = 64 * 1024 * 1024;

/// What the wrapper needs to know of the configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    pub path: String,
    pub home: String,
    pub ssh_auth_sock: Option<String>,
    pub user_name: String,
    pub user_email: String,
    /// Value of `GIT_ALLOW_PROTOCOL`.
    pub protocols: String,
    /// How long a remote may take to list its refs.
    pub remote_timeout: Duration,
    /// How long a transfer may go without progress.
    pub stall_timeout: Duration,
    pub checkout_workers: usize,
}

/// Builds git commands; cheap to clone.
#[derive(Debug, Clone)]
pub struct Git(Arc<Settings>);

impl Git {
    pub fn new(settings: Settings) -> Self {
        Self(Arc::new(settings))
    }

    pub fn settings(&self) -> &Settings {
        &self.0
    }

    /// A git command that runs in `dir`.
    pub fn at(&self, dir: impl Into<PathBuf>) -> GitCommand {
        GitCommand {
            git: self.clone(),
            dir: dir.into(),
            args: Vec::new(),
            env: Vec::new(),
            patience: Patience::default(),
            remote: false,
            at_leisure: false,
            input: None,
        }
    }

    /// The environment of every git process; nothing of the daemon's own gets in.
    pub fn environment(&self, dir: &Path) -> Vec<(String, String)> {
        let settings = &*self.0;
        let mut env: Vec<(String, String)> = [
            ("PATH", settings.path.as_str()),
            ("HOME", &settings.home),
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            // A build could plant refs/replace/*, and history would read differently for everyone.
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_ALLOW_PROTOCOL", &settings.protocols),
            // Also outranks a `core.sshCommand` that somebody planted in a repository.
            ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes"),
            ("GIT_EDITOR", ":"),
            ("GIT_PAGER", "cat"),
            ("GIT_AUTHOR_NAME", &settings.user_name),
            ("GIT_AUTHOR_EMAIL", &settings.user_email),
            ("GIT_COMMITTER_NAME", &settings.user_name),
            ("GIT_COMMITTER_EMAIL", &settings.user_email),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        env.extend(pinned());
        if let Some(socket) = &settings.ssh_auth_sock {
            env.push(("SSH_AUTH_SOCK".to_owned(), socket.clone()));
        }
        if let Some(above) = dir.parent() {
            // A workspace whose `.git` vanished must not be taken for a part of the store above it.
            let above = above.to_string_lossy().into_owned();
            env.push(("GIT_CEILING_DIRECTORIES".to_owned(), above));
        }
        env
    }
}

/// Configuration that outranks whatever a repository's own files say. It travels in the environment,
/// as `git -c` would pass it on, so that an argv shows only what was asked for.
const PINNED: [(&str, &str); 10] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.askPass", ""),
    ("credential.helper", ""),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.detachedHead", "false"),
];

fn pinned() -> impl Iterator<Item = (String, String)> {
    let count = ("GIT_CONFIG_COUNT".to_owned(), PINNED.len().to_string());
    let settings = PINNED.iter().enumerate().flat_map(|(n, (key, value))| {
        [
            (format!("GIT_CONFIG_KEY_{n}"), (*key).to_owned()),
            (format!("GIT_CONFIG_VALUE_{n}"), (*value).to_owned()),
        ]
    });
    std::iter::once(count).chain(settings)
}

#[derive(Debug)]
pub struct GitCommand {
    git: Git,
    dir: PathBuf,
    args: Vec<OsString>,
    env: Vec<(&'static str, String)>,
    patience: Patience,
    remote: bool,
    at_leisure: bool,
    input: Option<File>,
}

impl GitCommand {
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
        self.patience.total = Some(total);
        self.env("GIT_OPTIONAL_LOCKS", "0")
    }

    /// Talks to the remote, which has to answer within `total` or `stall`.
    #[must_use]
    pub fn remote(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self.remote = true;
        self
    }

    /// Gives way to everyone else on the machine.
    #[must_use]
    pub fn at_leisure(mut self) -> Self {
        self.at_leisure = true;
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

    async fn succeed(
        self,
        mut on_stderr: impl FnMut(&[u8]) + Send,
    ) -> Result<(Vec<u8>, String), Error> {
        let (verb, remote, dir) = (self.verb(), self.remote, self.dir.clone());
        // What runs at the root writes nothing.
        let shortage = || dir.parent().and_then(|_| Room::shortage_at(&dir));
        // Looked for with git's last words too: on its way out it may give back what it took.
        let mut seen = None;
        let watch = |bytes: &[u8]| {
            seen = shortage();
            on_stderr(bytes);
        };
        let done = self.capture(MAX_OUTPUT, watch).await?;
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
            Error::Remote {
                verb,
                status,
                stderr,
            }
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
        let mut command = if self.at_leisure {
            let mut nice = plain_command("nice", &self.dir);
            nice.args(["-n", "19", "git"]);
            nice
        } else {
            plain_command("git", &self.dir)
        };
        if let Some(file) = self.input.take() {
            command.stdin(file);
        }
        command
            .args(&self.args)
            .envs(self.git.environment(&self.dir))
            .envs(self.env.iter().map(|(name, value)| (*name, value)));
        tracing::debug!(dir = %self.dir.display(), args = ?self.args, "git");
        match capture(command, self.patience, max_stdout, on_stderr).await {
            Err(CaptureError::TimedOut { after, .. }) if self.remote => {
                Err(Error::RemoteTimedOut {
                    verb: self.verb(),
                    after,
                })
            }
            other => Ok(other?),
        }
    }

    fn verb(&self) -> String {
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            if arg != "-c" {
                return arg.to_string_lossy().into_owned();
            }
            args.next();
        }
        String::new()
    }
}

/// The end of git's own words, without progress lines.
fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.rsplit('\r').next())
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.contains("% ("))
        .collect();
    lines[lines.len().saturating_sub(8)..].join("; ")
}
