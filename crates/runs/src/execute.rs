//! The command itself: handed over to a supervisor, attended until that is gone.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::Instant;

use super::checks::Checks;
use super::declared::note_begin;
use super::drive::Drive;
use super::ending::Ending;
use super::environment;
use super::exec::ExecFiles;
use super::parallel::share_of;
use super::secrets::Handed;
use branchyard_config::crash_point;
use branchyard_git::{CredentialLease, NetworkAccess};
use branchyard_journal::{Watch, valid_length};
use branchyard_model::{About, Event, RunKind, RunState, SandboxProfile, Status, Warning};
use branchyard_process::{Exit, Launch, SANDBOX_TMP, Sandbox, Stop, Supervisor};
use branchyard_workspace::{Workspace, warm};

/// Most commands have been started by then, and the shortest have ended.
const NEXT_SUPERVISOR_AFTER: Duration = Duration::from_millis(50);

/// How long a supervisor may take to end, beyond the times that it gives its command.
pub(super) const ANSWERS_WITHIN: Duration = Duration::from_secs(15);

impl Drive {
    /// Hands the run over to a supervisor of its own. After an error nothing was started.
    pub(super) async fn start(
        &self,
        workspace: &Arc<Workspace>,
        (about, checks): (About, &Checks),
        (sandbox, exec_files): (Option<Sandbox>, ExecFiles),
        remote: (Option<CredentialLease>, NetworkAccess),
        secrets: Handed,
    ) -> io::Result<(Supervisor, Watch)> {
        let history = &self.shared().history;
        let tmp = match &sandbox {
            Some(_) => PathBuf::from(SANDBOX_TMP),
            None => {
                let tmp = history.tmp(self.live().id());
                std::fs::create_dir_all(&tmp)?;
                tmp
            }
        };
        let is_incremental = warm::is_incremental(workspace);
        let mut launch = self.launch(workspace, &about, &tmp, sandbox, remote, secrets);
        exec_files.hand_over(&mut launch, checks);
        let (workspace, spec) = (workspace.clone(), self.live().record().spec);
        let (checks, noted) = (checks.clone(), about.clone());
        let note = move || note_begin(&workspace, &spec, &noted, &checks).map_err(io::Error::other);
        self.hand_over(launch, about, is_incremental, note).await
    }

    /// Has a supervisor execute the launch, after `note`. After an error nothing was started.
    pub(super) async fn hand_over(
        &self,
        launch: Launch,
        about: About,
        is_incremental: bool,
        note: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> io::Result<(Supervisor, Watch)> {
        let history = &self.shared().history;
        let profile = launch.sandbox.as_ref().map(Sandbox::profile);
        self.live().change(|record| {
            record.state = RunState::Running;
            record.started_at = Some(Timestamp::now());
            record.about = Some(about.clone());
            let is_build = record.spec.kind != RunKind::Git;
            record.incremental = is_build.then_some(is_incremental);
            record.sandbox = profile.or(is_build.then_some(SandboxProfile::None));
        });
        history.save(&self.live().record())?;
        self.shared().tell_news(&self.live().record());
        self.journal().tell(&Event::Status(Status {
            about: Some(about.clone()),
            ..Status::new("running")
        }));
        crash_point("running");
        let (len, extent) = self.journal().hand_over()?;
        let journal = history.journal(self.live().id());
        let start = async {
            let watch = self.shared().watcher.watch(&journal, len, extent)?;
            let supervisors = self.shared().supervisors.clone();
            let start = move || {
                note()?;
                Supervisor::start(&supervisors, &launch)
            };
            self.replace_supervisor();
            let started = tokio::task::spawn_blocking(start).await;
            let supervisor = started.map_err(io::Error::other).flatten()?;
            Ok::<_, io::Error>((supervisor, watch))
        };
        let started = start.await;
        if started.is_err() {
            self.journal().take_back(len)?;
        }
        started
    }

    /// Has another supervisor stand by for the next run, once this one's command has had the machine to start on.
    fn replace_supervisor(&self) {
        let (supervisors, live) = (self.shared().supervisors.clone(), self.live().clone());
        self.shared().tasks.spawn(async move {
            // Over by then or not, it is time.
            let _ = tokio::time::timeout(NEXT_SUPERVISOR_AFTER, live.ended()).await;
            if !live.leaving().is_cancelled() {
                tokio::task::spawn_blocking(move || supervisors.prepare());
            }
        });
    }

    /// Waits for the end of the run's supervisor, passing a cancel on to it. Without a watch viewers see
    /// nothing until then. `None` if the daemon
    /// leaves first: the supervisor goes on without it.
    pub(super) async fn attend(
        &self,
        mut supervisor: Supervisor,
        watch: Option<Watch>,
    ) -> Option<Ending> {
        let mut stopping = false;
        let timeouts = &self.shared().config.timeouts;
        let patience = timeouts
            .grace
            .saturating_add(timeouts.drain)
            .saturating_add(ANSWERS_WITHIN);
        // It keeps the time itself, and well before this.
        let timeout = self.live().look().spec.timeout;
        let overdue = tokio::time::sleep(timeout.saturating_add(patience));
        tokio::pin!(overdue);
        let (mut woken, mut given_up) = (false, None);
        loop {
            tokio::select! {
                biased;
                ended = supervisor.ended() => {
                    if let Err(error) = ended {
                        tracing::error!(run = %self.live().id(), %error, "failed to wait for a supervisor");
                    }
                    break;
                }
                () = self.live().viewers().stopped(), if !stopping => {
                    stopping = true;
                    let reaches = self.live().extent().borrow().len;
                    self.stopped_at().get_or_init(|| reaches);
                    self.note_cancel();
                    if let Err(error) = supervisor.stop().await {
                        tracing::error!(run = %self.live().id(), %error, "failed to stop a run");
                    }
                    woken = true;
                    overdue.as_mut().reset(Instant::now() + patience);
                }
                () = &mut overdue => {
                    let sent = match woken && supervisor.is_stuck() {
                        true => {
                            given_up = Some(if stopping { Stop::Asked } else { Stop::TimedOut });
                            supervisor.kill()
                        }
                        false => supervisor.wake(),
                    };
                    tracing::warn!(run = %self.live().id(), killed = given_up.is_some(), error = ?sent.err(), "a supervisor is overdue");
                    woken = true;
                    overdue.as_mut().reset(Instant::now() + patience);
                }
                () = self.live().leaving().cancelled() => return None,
            }
        }
        crash_point("exit-seen");
        let reaches = match watch {
            Some(watch) => watch.catch_up(),
            None => valid_length(&self.shared().history.journal(self.live().id())),
        };
        let caught_up = reaches.and_then(|len| self.journal().take_back(len));
        if let Err(error) = caught_up {
            tracing::error!(run = %self.live().id(), %error, "failed to take a journal back");
        }
        Some(match (self.ending_on_disk(), given_up) {
            (Ending::Lost, Some(why)) => Ending::GivenUp(why),
            (ending, _) => ending,
        })
    }

    /// What the supervisor left, now that it is gone.
    pub(super) fn ending_on_disk(&self) -> Ending {
        match Exit::load(&self.shared().history.home(self.live().id())) {
            Some(exit) => Ending::Exited(exit),
            None => Ending::Lost,
        }
    }

    /// Why it is being stopped is kept, should another daemon have to tell it.
    fn note_cancel(&self) {
        let reason = self.live().viewers().reason().cloned();
        self.live().change(|record| record.reason = reason);
        if let Err(error) = self.shared().history.save(&self.live().record()) {
            tracing::error!(run = %self.live().id(), %error, "failed to record a cancel");
        }
    }

    fn launch(
        &self,
        workspace: &Workspace,
        about: &About,
        tmp: &Path,
        sandbox: Option<Sandbox>,
        (lease, reach): (Option<CredentialLease>, NetworkAccess),
        secrets: Handed,
    ) -> Launch {
        let spec = self.live().record().spec;
        let (config, repo) = (&self.shared().config, &workspace.repo());
        // What talks to the remote has keys, and looks at no file that a build could have written.
        let path = match reach {
            NetworkAccess::Here => workspace.path(),
            NetworkAccess::Remote => workspace.git_dir(),
        };
        let token = lease.as_ref().map(|lease| &lease.token);
        let mut hidden = environment::secrets(config, repo.config(), &spec.env, token);
        hidden.extend(secrets.hidden);
        let port = port(self, workspace, spec.kind);
        let own = environment::of_workspace(workspace, &about.commit, port);
        let beside = (tmp, share_of(self));
        let mut env = environment::of_run(config, repo, &spec, (path, reach), own, beside);
        env.extend(secrets.env);
        let mut set = |name: &str, path: &Path| {
            env.insert(name.to_owned(), path.to_string_lossy().into_owned());
        };
        if reach == NetworkAccess::Remote {
            set("GIT_DIR", path);
        }
        if let Some(sandbox) = &sandbox {
            set("HOME", sandbox.home());
        }
        Launch {
            handover: lease
                .map(|lease| lease.handover)
                .filter(|_| reach == NetworkAccess::Remote),
            ..self.launch_in(path, env, sandbox, hidden)
        }
    }

    /// The command of the run, with all that is the same for every kind.
    pub(super) fn launch_in(
        &self,
        cwd: &Path,
        mut env: BTreeMap<String, String>,
        sandbox: Option<Sandbox>,
        secrets: Vec<String>,
    ) -> Launch {
        let (spec, config) = (self.live().record().spec, &self.shared().config);
        if let Some(sandbox) = &sandbox {
            let proxy = sandbox.variables();
            env.extend(proxy.map(|(name, value)| (name.to_owned(), value)));
        }
        Launch {
            secrets,
            masks: None,
            handover: None,
            run: self.live().id(),
            home: self.shared().history.home(self.live().id()),
            env: env.into_iter().collect(),
            sandbox,
            argv: spec.argv,
            stdin: None,
            cwd: cwd.to_owned(),
            timeout: spec.timeout,
            grace: config.timeouts.grace,
            drain: config.timeouts.drain,
            max_output: config.limits.max_output.as_u64(),
            limits: self.shared().run_limits(),
            mechanisms: self.shared().mechanisms.clone(),
        }
    }
}

/// The first port of the workspace; git needs none.
fn port(drive: &Drive, workspace: &Workspace, kind: RunKind) -> Option<u16> {
    if kind == RunKind::Git {
        return None;
    }
    let problem = match workspace.lease_ports() {
        Ok(Some(first)) => return Some(first),
        Ok(None) => "all of `build.ports` are taken".to_owned(),
        Err(error) => format!("they could not be written down: {error}"),
    };
    let message = format!("the workspace has no ports: {problem}");
    drive.warn(Warning::new("no_ports", message));
    None
}
