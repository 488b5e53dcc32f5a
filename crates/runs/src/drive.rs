//! One run from its place in the queue to its end. This task is the only writer of the run's state:
//! take the lock, take a slot, prepare the workspace, hand over to a supervisor, tell how it ended.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use parking_lot::Mutex;
use tokio::task::JoinError;

use super::checks::Checks;
use super::ending::Ending;
use super::exec::{self, ExecFiles};
use super::helper::HELPER_AT_WORK;
use super::live::Live;
use super::open::{GIT_AT_ONCE, Runs, RunsInner};
use super::run_journal::{JournalOwner, RunJournal};
use super::slots::Slot;
use crate::{parallel, reuse, secrets, setup};
use branchyard_auth::Principal;
use branchyard_git::verbs::fetch;
use branchyard_git::{CredentialLease, NetworkAccess};
use branchyard_model::{
    About, ErrorKind, Event, Holder, Phase, Problem, RunKind, RunRecord, RunSpec, RunState, Status,
    SyncMode, Warning,
};
use branchyard_workspace::{
    self as workspace, FilesGuard, HelperGuard, PrepareOptions, QueuePlace, Report, Reporter,
    Waiting, Workspace, WorkspaceLock, files, guard, included, protected_from, sync, unfilled,
    verbs, warm,
};

/// What a run has beside its record until its command can start.
pub(super) struct RunJob {
    pub(super) workspace: Arc<Workspace>,
    pub(super) checks: Checks,
    pub(super) asked_at: Instant,
    /// Who asked, unless that was an earlier daemon's doing.
    pub(super) asker: Option<Principal>,
}

pub(super) fn not_started(shared: &RunsInner, error: &io::Error) -> Problem {
    let detail = "the run's supervisor could not be started";
    let problem = Problem::unwritten("supervisor_not_started", detail, error);
    shared.margin.judge(problem)
}

/// The end of a run that a defect of ours cut off.
pub(super) fn task_failed(error: &JoinError) -> Ending {
    let detail = format!("the run's task failed: {error}");
    Ending::Refused(Problem::new(ErrorKind::Internal, "run_failed", detail))
}

/// The place of a run in the line for its workspace; `None` for one that waits for no other.
pub(super) fn line_up(
    workspace: &Workspace,
    record: &RunRecord,
    checks: &Checks,
) -> Option<QueuePlace> {
    if looks_only(&record.spec, checks) {
        return None;
    }
    let (what, who) = (record.spec.argv.join(" "), &record.spec.principal);
    Some(workspace.queue().enter(&what, who, Some(record.run_id)))
}

/// Whether a run only reads what is there: then it waits neither for the lock of the workspace nor for a slot.
pub(super) fn looks_only(spec: &RunSpec, checks: &Checks) -> bool {
    spec.kind == RunKind::Git && checks.reads && spec.sync == SyncMode::None && !spec.clean
}

/// The lock of a workspace, and the workspace: without a holder of the workspace, the next caller would
/// get another one, whose lock is free.
pub(super) type Held = (WorkspaceLock, Arc<Workspace>);

pub(super) struct Drive {
    shared: Arc<RunsInner>,
    live: Arc<Live>,
    journal: RunJournal,
    waited: AtomicBool,
    /// Of one in the background, once it runs.
    helper: Mutex<Option<HelperGuard>>,
    /// How long the journal was when the command was told to stop.
    stopped_at: OnceLock<u64>,
}

impl Drive {
    pub(super) fn new(runs: &Runs, live: Arc<Live>, owner: JournalOwner) -> Arc<Self> {
        let shared = runs.inner().clone();
        let margin = shared.margin.clone();
        Arc::new(Self {
            journal: RunJournal::new(&shared.history, live.id(), margin, owner),
            shared,
            live,
            waited: AtomicBool::new(false),
            stopped_at: OnceLock::new(),
            helper: Mutex::default(),
        })
    }

    pub(super) fn shared(&self) -> &Arc<RunsInner> {
        &self.shared
    }

    pub(super) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    pub(super) fn stopped_at(&self) -> &OnceLock<u64> {
        &self.stopped_at
    }

    pub(super) fn helper(&self) -> &Mutex<Option<HelperGuard>> {
        &self.helper
    }

    pub(super) fn journal(&self) -> &RunJournal {
        &self.journal
    }

    /// Ends in an end state on every path, a defect of ours included; unless the daemon leaves first:
    /// then the next one goes on with it.
    pub(super) async fn run_until_end(self: Arc<Self>, place: Option<QueuePlace>, job: RunJob) {
        let drive = self.clone();
        let worker = tokio::spawn(async move { drive.until_ended(place, job).await });
        let (ending, held) = worker
            .await
            .unwrap_or_else(|error| (Some(task_failed(&error)), None));
        self.close(ending, held).await;
    }

    /// Tells the end, if this is one, and lets the next in line start once everyone can see it, or once
    /// it is clear that this takes a while.
    /// Returns the lock, unless the next in line has it by then.
    pub(super) async fn close(&self, ending: Option<Ending>, held: Option<Held>) -> Option<Held> {
        let helper = self.helper.lock().take();
        let held = match ending {
            Some(ending) => {
                let held = self.finish(ending, held).await;
                drop(helper);
                held
            }
            // The command goes on without this daemon, in which no caller may take it for ended.
            None => {
                std::mem::forget(helper);
                held
            }
        };
        // Ended or left: from now on nobody's going means anything.
        self.live.viewers().close();
        self.shared.live.remove(&self.live.id());
        held
    }

    async fn until_ended(
        self: &Arc<Self>,
        place: Option<QueuePlace>,
        job: RunJob,
    ) -> (Option<Ending>, Option<Held>) {
        let waiting = |waiting: &Waiting| self.wait(waiting.position, Some(waiting.holder.clone()));
        // Where it was cancelled and the daemon leaves as well, the cancel counts: it was promised.
        let mut lock = tokio::select! {
            biased;
            () = self.live.viewers().stopped() => return (Some(Ending::CancelledBeforeStart), None),
            () = self.live.leaving().cancelled() => return (None, None),
            lock = async {
                match place {
                    Some(place) => Some(place.wait(waiting).await),
                    None => None,
                }
            } => lock,
        };
        let ending = tokio::select! {
            biased;
            ending = self.prepare_and_execute(&job, &mut lock) => {
                ending.unwrap_or_else(|problem| Some(Ending::Refused(problem)))
            }
            // Only preparing is dropped here: once a command runs, its own stop is awaited inside.
            () = self.before_start(self.live.viewers().stopped()) => Some(Ending::CancelledBeforeStart),
            () = self.before_start(self.live.leaving().cancelled()) => None,
        };
        (ending, lock.map(|lock| (lock, job.workspace)))
    }

    /// `event`, if it comes before the command runs; pending for ever after that.
    pub(super) async fn before_start(&self, event: impl Future<Output = ()>) {
        event.await;
        if self.live.look().state == RunState::Running {
            std::future::pending::<()>().await;
        }
    }

    /// Tells the caller something, now and with the result.
    pub(super) fn warn(&self, warning: Warning) {
        self.journal.tell(&Event::Warning(warning.clone()));
        self.live.change(|record| record.warnings.push(warning));
    }

    /// Notes that others are served first.
    fn wait(&self, position: usize, holder: Option<Holder>) {
        self.waited.store(true, Ordering::Relaxed);
        self.live.position().store(position, Ordering::Relaxed);
        self.journal.tell(&Event::Status(Status {
            position: Some(position),
            holder,
            ..Status::new("queued")
        }));
    }

    /// A command in the background gives the lock back as soon as it has started.
    async fn prepare_and_execute(
        self: &Arc<Self>,
        job: &RunJob,
        lock: &mut Option<WorkspaceLock>,
    ) -> Result<Option<Ending>, Problem> {
        let (workspace, checks) = (&job.workspace, &job.checks);
        let (about, not_before, held) = self.prepare(job).await?;
        let held_while_it_runs =
            match setup::make_ready(self, workspace, &about, lock, held).await? {
                Ok(held) => held,
                Err(ending) => return Ok(Some(ending)),
            };
        if checks.brings {
            let fetched = verbs::fetch(workspace, &fetch::Request::default()).await;
            fetched.map_err(|error| error.problem())?;
        }
        // Pushes and fetches of the store go one at a time, ours and the callers'.
        let _network = match checks.network {
            true => Some(workspace.repo().network().lock().await),
            false => None,
        };
        let reach = match checks.network {
            true => NetworkAccess::Remote,
            false => NetworkAccess::Here,
        };
        if checks.network {
            let checked = workspace.repo().git().check_host("git").await;
            checked.map_err(|error| error.problem())?;
        }
        let lease = self.lease(workspace, reach)?;
        let secrets = secrets::hand_secrets(self, workspace, not_before).await?;
        if !secrets.env.is_empty() {
            warm::note_secret(workspace);
        }
        for withheld in &secrets.withheld {
            self.warn(withheld.clone());
        }
        let (kind, is_helper) = {
            let spec = &self.live.look().spec;
            (spec.kind, spec.background)
        };
        let helper = workspace.helpers().first();
        if let Some(helper) = helper.filter(|_| kind != RunKind::Git) {
            let message =
                format!("run {helper} is at work in the workspace, too, in the background");
            self.warn(Warning::new(HELPER_AT_WORK, message));
        }
        self.check_unready(workspace).await?;
        let exec_files = match kind {
            RunKind::Exec => {
                // What was allowed when it was asked for may not be any more.
                let argv = self.live.record().spec.argv;
                exec::check_allowed(workspace.repo(), &argv, checks.script_at)?;
                let home = self.shared.history.home(self.live.id());
                let found = ExecFiles::of(&home, workspace, checks);
                found.map_err(|error| self.shared.margin.judge(error.problem()))?
            }
            RunKind::Make | RunKind::Git | RunKind::Task | RunKind::Setup | RunKind::Step => {
                ExecFiles::default()
            }
        };
        let sandboxes = &self.shared.sandboxes;
        let sandbox = sandboxes.of_run(workspace, kind, checks, &exec_files)?;
        if let Some(answered) =
            reuse::answer_from_earlier(self, workspace, &about, &secrets, job.asker.as_ref()).await
        {
            return Ok(Some(answered));
        }
        parallel::share_cores(self, &checks.open_jobs);
        let confined = (sandbox, exec_files);
        let started = self.start(
            workspace,
            (about, checks),
            confined,
            (lease, reach),
            secrets,
        );
        let (supervisor, watch) = started
            .await
            .map_err(|error| not_started(&self.shared, &error))?;
        if is_helper {
            self.enter_helpers(workspace);
            drop((lock.take(), held_while_it_runs));
            return Ok(self.attend_helper(workspace, supervisor, Some(watch)).await);
        }
        Ok(self.attend(supervisor, Some(watch)).await)
    }

    /// What opens the remote, for a command that needs it; and for others what is to be kept out of their output.
    pub(super) fn lease(
        &self,
        workspace: &Workspace,
        reach: NetworkAccess,
    ) -> Result<Option<CredentialLease>, Problem> {
        match (workspace.repo().git().lease(), reach) {
            (Ok(lease), _) => Ok(lease),
            (Err(error), NetworkAccess::Remote) => Err(error.problem()),
            (Err(error), NetworkAccess::Here) => {
                tracing::warn!(repo = %workspace.repo().name(), %error, "a run's output is not searched for the token");
                Ok(None)
            }
        }
    }

    /// Waits until it may execute.
    pub(super) async fn take_slot(&self, workspace: &Workspace) -> Slot {
        let spec = self.live.record().spec;
        let max = match (spec.kind, workspace.repo().config().max_concurrent_runs) {
            (RunKind::Git, _) => GIT_AT_ONCE,
            (_, Some(of_repo)) => of_repo,
            (_, None) => self.shared.config.limits.max_concurrent_runs_per_repo,
        };
        let queued = |position| self.wait(position, None);
        let slots = self.shared.slots_for(spec.kind);
        slots.take(&spec.principal, &spec.repo, max, queued).await
    }

    /// What the command is about, since when the remote's word is new enough, and what is held while it runs.
    async fn prepare(
        self: &Arc<Self>,
        job: &RunJob,
    ) -> Result<(About, Instant, (Slot, FilesGuard)), Problem> {
        let (workspace, checks) = (&job.workspace, &job.checks);
        let spec = self.live.record().spec;
        let (config, repo) = (&self.shared.config, workspace.repo().config());
        let slot = match looks_only(&spec, checks) {
            // Beyond the limit, if need be: a read waits for no other command.
            true => {
                let slots = self.shared.slots_for(spec.kind);
                slots.occupy(&spec.principal, &spec.repo)
            }
            false => self.take_slot(workspace).await,
        };
        // What was free when it was asked for may be taken by now.
        self.shared.margin.check()?;
        self.live
            .change(|record| record.state = RunState::Preparing);
        self.shared.history.note(&self.live.record());
        self.shared.tell_news(&self.live.record());
        // Whoever had to wait, or joined, wants what is there now, not what was there at first.
        let joined = self.live.company().close();
        let not_before = match joined || self.waited.load(Ordering::Relaxed) {
            true => Instant::now(),
            false => job.asked_at,
        };
        let judged = |error: workspace::Error| self.shared.margin.judge(error.problem());
        let report = self.reporter();
        let is_due = secrets::are_due(&config.secrets, repo, &spec);
        let options = PrepareOptions {
            sync: match &spec.sync {
                // Clean means exactly what the remote has, where a secret depends on it.
                SyncMode::Auto if spec.clean && is_due => SyncMode::Reset,
                // A command of one's own sees what is there, once something is.
                SyncMode::None if spec.kind == RunKind::Exec && !workspace.exists() => {
                    SyncMode::Auto
                }
                sync => sync.clone(),
            },
            clean: spec.clean,
            cold: spec.cold,
            stale: spec.stale,
            not_before,
            by: spec.principal.clone(),
        };
        let prepared = sync::prepare(workspace, &options, &report).await;
        let (about, files_guard) = prepared.map_err(judged)?;
        if spec.kind == RunKind::Git {
            included::check_git(workspace, &spec.argv)
                .await
                .map_err(judged)?;
        }
        if checks.guards_branch && workspace.repo().protects(workspace.branch()) {
            return Err(protected_from(workspace.branch(), "changed"));
        }
        files::check_beneath(workspace, checks.beneath.clone())
            .await
            .map_err(judged)?;
        if spec.kind == RunKind::Git {
            guard::guard(workspace, &report).map_err(judged)?;
            if checks.pushes {
                verbs::upload_before_push(workspace).await.map_err(judged)?;
            }
        } else {
            unfilled::fill(workspace, &report).await.map_err(judged)?;
            match unfilled::warnings(workspace).await {
                Ok(warnings) => warnings.into_iter().for_each(|warning| self.warn(warning)),
                Err(error) => {
                    tracing::warn!(repo = %spec.repo, branch = %spec.branch, %error, "what is missing in a workspace is not known");
                }
            }
        }
        Ok((about, not_before, (slot, files_guard)))
    }

    /// Journals what happens on the way; what goes on by itself after the run's end is not told.
    fn reporter(self: &Arc<Self>) -> Reporter {
        let drive = self.clone();
        Arc::new(move |report| match report {
            Report::Phase(phase, percent) => drive.journal.tell(&Event::Status(Status {
                phase: Some(phase),
                percent,
                ..Status::new("preparing")
            })),
            Report::Warm(warm) => {
                drive.live.change(|record| record.warm = Some(warm.clone()));
                drive.journal.tell(&Event::Status(Status {
                    phase: Some(Phase::Warm),
                    warm: Some(warm),
                    ..Status::new("preparing")
                }));
            }
            Report::Warning(warning) => drive.warn(warning),
        })
    }
}
