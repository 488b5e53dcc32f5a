//! One run from its place in the queue to its end. This task is the only writer of the run's state:
//! take the turn, take a slot, prepare the workspace, execute, tell how it ended.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use jiff::Timestamp;
use tokio::sync::OwnedRwLockReadGuard;

use super::environment::{self, Place};
use super::finish::Ending;
use super::live::Live;
use super::slots::Slot;
use super::start::Shared;
use crate::journal::Writer;
use crate::model::{About, ErrorKind, Event, Holder, Problem, RunKind, RunState, Status};
use crate::process::{Exit, Launch, stop_channel, supervise};
use crate::workspace::{Report, Reporter, TurnGuard, Waiting, Workspace};

/// What is left to see to when the command starts.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// Paths in the arguments that must not lead out of the workspace.
    pub(super) beneath: Vec<String>,
    /// It talks to the remote.
    pub(super) network: bool,
}

pub(super) struct Drive {
    pub(super) shared: Arc<Shared>,
    pub(super) live: Arc<Live>,
    workspace: Arc<Workspace>,
    command: Checks,
    asked_at: Instant,
    waited: AtomicBool,
    journal: Arc<Mutex<Writer>>,
}

impl Drive {
    pub(super) fn new(
        shared: Arc<Shared>,
        live: Arc<Live>,
        workspace: Arc<Workspace>,
        command: Checks,
        asked_at: Instant,
        journal: Writer,
    ) -> Self {
        Self {
            shared,
            live,
            workspace,
            command,
            asked_at,
            waited: AtomicBool::new(false),
            journal: Arc::new(Mutex::new(journal)),
        }
    }

    /// Ends in an end state on every path; a defect of ours is told as such, not as silence.
    pub(super) async fn run_until_end(self) {
        let drive = Arc::new(self);
        let worker = tokio::spawn({
            let drive = drive.clone();
            async move { drive.until_ended().await }
        });
        let (ending, turn) = worker.await.unwrap_or_else(|error| {
            let detail = format!("the run's task failed: {error}");
            (
                Ending::Refused(Problem::new(ErrorKind::Internal, "run_failed", detail)),
                None,
            )
        });
        drive.finish(ending);
        // The next in line may start once everyone can see that this run is over.
        drop(turn);
        drive.shared.live.remove(&drive.live.id);
    }

    async fn until_ended(self: &Arc<Self>) -> (Ending, Option<TurnGuard>) {
        let turn = tokio::select! {
            turn = self.take_turn() => turn,
            () = self.live.cancelled.cancelled() => return (Ending::CancelledBeforeStart, None),
        };
        let ending = tokio::select! {
            ending = self.prepare_and_execute() => ending,
            // Only preparing is dropped here: once a command runs, its own stop is awaited inside.
            () = self.cancelled_before_start() => Ending::CancelledBeforeStart,
        };
        (ending, Some(turn))
    }

    async fn take_turn(&self) -> TurnGuard {
        let record = self.live.record();
        let what = record.spec.argv.join(" ");
        let waiting = |waiting: &Waiting| self.wait(waiting.position, Some(waiting.holder.clone()));
        self.workspace
            .turn
            .take(&what, &record.spec.principal, Some(self.live.id), waiting)
            .await
    }

    /// Notes that others are served first.
    fn wait(&self, position: usize, holder: Option<Holder>) {
        self.waited.store(true, Ordering::Relaxed);
        self.tell(&Event::Status(Status {
            state: "queued".to_owned(),
            position: Some(position),
            holder,
            ..Status::default()
        }));
    }

    async fn prepare_and_execute(self: &Arc<Self>) -> Ending {
        match self.prepare().await {
            Ok((about, slot, floor)) => {
                let _held_while_it_runs = (slot, floor);
                let spec = &self.live.record().spec;
                match self.execute(about).await {
                    Ok(exit) => Ending::Exited(exit),
                    Err(error) => Ending::Refused(could_not_start(&spec.argv, &error)),
                }
            }
            Err(problem) => Ending::Refused(problem),
        }
    }

    async fn prepare(self: &Arc<Self>) -> Result<(About, Slot, OwnedRwLockReadGuard<()>), Problem> {
        let spec = self.live.record().spec;
        let repo = &self.workspace.repo;
        let max = repo
            .config
            .max_concurrent_runs
            .unwrap_or(self.shared.config.limits.max_concurrent_runs_per_repo);
        let queued = |position| self.wait(position, None);
        let slot = self.shared.slots.take(&spec.repo, max, queued).await;
        self.live
            .record
            .send_modify(|record| record.state = RunState::Preparing);
        // Whoever had to wait wants what is there now, not what was there when they came.
        let not_before = match self.waited.load(Ordering::Relaxed) {
            true => Instant::now(),
            false => self.asked_at,
        };
        let report = self.reporter();
        let prepared = self
            .workspace
            .prepare(&spec.sync, spec.stale, not_before, &report)
            .await;
        let (about, floor) = prepared.map_err(|error| error.problem())?;
        let beneath = self.command.beneath.clone();
        self.workspace
            .check_beneath(beneath)
            .await
            .map_err(|error| error.problem())?;
        if spec.kind == RunKind::Git {
            self.workspace
                .guard(&report)
                .map_err(|error| error.problem())?;
        }
        Ok((about, slot, floor))
    }

    /// Journals what happens on the way; what goes on by itself after the run's end is not told.
    fn reporter(self: &Arc<Self>) -> Reporter {
        let drive = self.clone();
        Arc::new(move |report| match report {
            Report::Phase(phase, percent) => drive.tell(&Event::Status(Status {
                state: "preparing".to_owned(),
                phase: Some(phase),
                percent,
                ..Status::default()
            })),
            Report::Warning(warning) => drive.tell(&Event::Warning(warning)),
        })
    }

    async fn execute(&self, about: About) -> std::io::Result<Exit> {
        // Pushes and fetches of the store go one at a time, ours and the callers'.
        let _network = match self.command.network {
            true => Some(self.workspace.repo.network.lock().await),
            false => None,
        };
        let tmp = self.shared.history.tmp(self.live.id);
        std::fs::create_dir_all(&tmp)?;
        let launch = self.launch(&about, &tmp);
        self.live.record.send_modify(|record| {
            record.state = RunState::Running;
            record.started_at = Some(Timestamp::now());
            record.about = Some(about.clone());
        });
        if let Err(error) = self.shared.history.save(&self.live.record()) {
            tracing::error!(run = %self.live.id, %error, "failed to record the start of a run");
        }
        self.tell(&Event::Status(Status {
            state: "running".to_owned(),
            about: Some(about),
            ..Status::default()
        }));
        let (stop, asked_to_stop) = stop_channel()?;
        let journal = self.journal.clone();
        let mut command = tokio::task::spawn_blocking(move || {
            supervise(&launch, &mut lock(&journal), &asked_to_stop)
        });
        let joined = tokio::select! {
            joined = &mut command => joined,
            () = self.live.cancelled.cancelled() => {
                stop.stop();
                command.await
            }
        };
        joined.map_err(std::io::Error::other)?
    }

    fn launch(&self, about: &About, tmp: &PathBuf) -> Launch {
        let spec = self.live.record().spec;
        let (config, repo) = (&self.shared.config, &self.workspace.repo);
        let place = Place {
            repo: &spec.repo,
            branch: &spec.branch,
            commit: &about.commit,
            tmp,
        };
        let path = self.workspace.path();
        Launch {
            run: self.live.id,
            env: environment::of_run(
                config,
                &repo.config,
                spec.kind,
                repo.git(),
                &place,
                path,
                &spec.env,
            ),
            argv: spec.argv,
            cwd: path.to_owned(),
            timeout: spec.timeout,
            grace: config.timeouts.grace,
            drain: config.timeouts.drain,
        }
    }

    /// A cancel that comes before the command runs; pending for ever after that.
    async fn cancelled_before_start(&self) {
        self.live.cancelled.cancelled().await;
        if self.live.record.borrow().state == RunState::Running {
            std::future::pending::<()>().await;
        }
    }

    /// Journals an event. A journal that cannot be written never fails the run.
    pub(super) fn tell(&self, event: &Event) {
        let mut journal = lock(&self.journal);
        if !journal.is_closed() {
            self.note_failure(journal.event(event));
        }
    }

    /// Journals the last event; nothing can follow it.
    pub(super) fn tell_last(&self, event: &Event) {
        let mut journal = lock(&self.journal);
        self.note_failure(journal.event(event));
        journal.close();
    }

    fn note_failure(&self, outcome: std::io::Result<()>) {
        if let Err(error) = outcome {
            tracing::error!(run = %self.live.id, %error, "failed to journal an event");
        }
    }
}

fn lock(journal: &Mutex<Writer>) -> MutexGuard<'_, Writer> {
    journal.lock().unwrap_or_else(PoisonError::into_inner)
}

fn could_not_start(argv: &[String], error: &std::io::Error) -> Problem {
    let program = argv.first().map_or("", String::as_str);
    let problem = Problem::new(
        ErrorKind::Unprocessable,
        "command_not_started",
        format!("{program} could not be started: {error}"),
    );
    match error.kind() {
        std::io::ErrorKind::NotFound => problem.help(format!(
            "install {program} on the daemon's machine, or set [build] path"
        )),
        _ => problem,
    }
}
