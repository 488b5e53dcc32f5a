//! All runs of a daemon: found on disk when it starts, let go of when they are old, left when it ends.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use dashmap::DashMap;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::environment;
use super::groups::Groups;
use super::history::History;
use super::idempotency::{Claimed, Keys};
use super::live::Live;
use super::meter::{DiskUse, is_metered};
use super::reuse::ReuseKey;
use super::sandbox::{SandboxReport, Sandboxes};
use super::setup::SetupsUnderWay;
use super::slots::Slots;
use super::test_report::index_missing;
use super::usage::Usage;
use crate::{adopt, artifacts, groups, meter};
use branchyard_artifacts::ArtifactStore;
use branchyard_config::{self as config, Config};
use branchyard_db::run_index::Retention;
use branchyard_journal::Watcher;
use branchyard_model::{CommitId, ErrorKind, Problem, RunId, RunKind, RunRecord, RunSpec};
use branchyard_outbox::Outbox;
use branchyard_process::{Limits, Mechanisms, StartLimit, SupervisorPool};
use branchyard_runtime::background::Background;
use branchyard_runtime::clock::SteadyClock;
use branchyard_runtime::disk::{DiskGuard, Trash};
use branchyard_runtime::yard_events::{RunEvent, YardChange};
use branchyard_workspace::repos::Repos;
use branchyard_workspace::{Workspace, Workspaces};

/// Git commands that execute at the same time.
pub(super) const GIT_AT_ONCE: usize = 16;
/// How often the history is looked through for what is too old.
const LOOK_FOR_OLD: Duration = Duration::from_secs(10 * 60);

/// What runs are kept on.
#[derive(Debug)]
pub struct OnDisk {
    pub margin: DiskGuard,
    pub trash: Trash,
    /// What is under way in it is another yard's.
    pub is_copy: bool,
    /// By which runs get old.
    pub clock: SteadyClock,
    pub artifacts: Arc<ArtifactStore>,
    /// Where it is noted what is to be run at their ends.
    pub outbox: Outbox,
}

/// All runs; cheap to clone.
#[derive(Debug, Clone)]
pub struct Runs(Arc<RunsInner>);

#[derive(Debug)]
pub(super) struct RunsInner {
    pub(super) config: Arc<Config>,
    pub(super) repos: Arc<Repos>,
    pub(super) workspaces: Arc<Workspaces>,
    pub(super) margin: DiskGuard,
    pub(super) watcher: Watcher,
    /// Where supervisors come from.
    pub(super) supervisors: Arc<SupervisorPool>,
    /// What there is on this machine to hold runs within their limits.
    pub(super) mechanisms: Mechanisms,
    /// What there is to keep them from what is not theirs.
    pub(super) sandboxes: Sandboxes,
    pub(super) history: History,
    pub(super) groups: Groups,
    pub(super) usage: Usage,
    pub(super) disk_use: DiskUse,
    pub(super) setups: SetupsUnderWay,
    pub(super) artifacts: Arc<ArtifactStore>,
    pub(super) outbox: Outbox,
    pub(super) live: DashMap<RunId, Arc<Live>>,
    pub(super) slots: Slots,
    /// Git commands are short, and do not wait for builds.
    pub(super) git_slots: Slots,
    pub(super) tasks: TaskTracker,
    pub(super) keys: Keys,
    pub(super) reuse_key: ReuseKey,
    /// Held while it is decided whether a run is joined or made.
    pub(super) joining: Mutex<()>,
    /// Runs that have not ended when the daemon starts are another yard's.
    pub(super) is_copy: bool,
    pub(super) draining: AtomicBool,
    pub(super) leaving: CancellationToken,
}

impl RunsInner {
    /// Where a run of this kind waits for its turn.
    pub(super) fn slots_for(&self, kind: RunKind) -> &Slots {
        match kind {
            RunKind::Git => &self.git_slots,
            RunKind::Make | RunKind::Task | RunKind::Exec | RunKind::Setup | RunKind::Step => {
                &self.slots
            }
        }
    }

    /// `None` where the run's repo is not configured any more, and of a step, which is at work in no workspace.
    pub(super) fn workspace_of(&self, spec: &RunSpec) -> Option<Arc<Workspace>> {
        if spec.step.is_some() {
            return None;
        }
        let repo = self.repos.get(&spec.repo).ok()?;
        Some(self.workspaces.get(&repo, &spec.branch))
    }

    /// Brings the index of test results to what is on disk, where there is room for it. Blocks.
    fn index_tests(&self) {
        let is_over = || self.leaving.is_cancelled() || self.margin.shortage().is_some();
        if let Err(error) = index_missing(&self.history, is_over) {
            tracing::error!(%error, "the tests of old runs are not indexed");
        }
    }

    /// Tells those who watch the yard that a run is in another state.
    pub(super) fn tell_news(&self, record: &RunRecord) {
        let event = Box::new(RunEvent::of(record));
        self.repos.news().publish(YardChange::Run(event));
    }

    pub(super) fn run_limits(&self) -> Limits {
        let limits = &self.config.limits;
        Limits {
            processes: most_processes(limits, &self.mechanisms),
            memory: limits.max_memory.map(|size| size.as_u64()),
            open_files: limits
                .max_open_files
                .and_then(|files| u64::try_from(files).ok()),
            usual_open_files: self.config.open_files,
        }
    }
}

/// What the configuration allows a run, and the machine.
fn most_processes(limits: &config::Limits, mechanisms: &Mechanisms) -> Option<u64> {
    let most = u64::try_from(limits.max_processes).ok()?;
    Some(most.min(mechanisms.most_processes()))
}

impl Runs {
    pub(super) fn of(inner: Arc<RunsInner>) -> Self {
        Self(inner)
    }

    pub(super) fn inner(&self) -> &Arc<RunsInner> {
        &self.0
    }

    /// Opens the runs on disk and goes on with those that have not ended.
    pub async fn open(
        config: Arc<Config>,
        repos: Arc<Repos>,
        workspaces: Arc<Workspaces>,
        Background { tasks, loops }: Background,
        OnDisk {
            margin,
            trash,
            is_copy,
            clock,
            artifacts,
            outbox,
        }: OnDisk,
        program: PathBuf,
    ) -> std::io::Result<Self> {
        let (history, unended, later) = History::open(&margin, trash, &loops)?;
        let mechanisms = Mechanisms::probe();
        tracing::info!(by = mechanisms.describe(), "limits of runs are held");
        let sandboxes = Sandboxes::open(config.clone(), repos.git(), &program, &mechanisms).await;
        let reuse_key = ReuseKey::open(margin.state())?;
        let keys = Keys::default();
        for (principal, known, run) in history.keys()? {
            keys.remember(principal, known, Claimed::Run(run));
        }
        let groups = Groups::open(margin.state())?;
        for (principal, known, group) in groups.keys() {
            keys.remember(principal, known, Claimed::Group(group));
        }
        let most = most_processes(&config.limits, &mechanisms);
        let limit = StartLimit::of(&mechanisms, most);
        let usage = Usage::open(margin.state(), &config.limits);
        let runs = Self(Arc::new(RunsInner {
            slots: Slots::new(config.limits.max_concurrent_runs),
            git_slots: Slots::new(GIT_AT_ONCE),
            config,
            repos,
            workspaces,
            margin,
            watcher: Watcher::start(loops.clone())?,
            supervisors: Arc::new(SupervisorPool::new(program, limit)),
            mechanisms,
            sandboxes,
            usage,
            disk_use: DiskUse::default(),
            setups: SetupsUnderWay::default(),
            artifacts,
            outbox,
            history,
            groups,
            live: DashMap::new(),
            tasks,
            keys,
            reuse_key,
            joining: Mutex::default(),
            is_copy,
            draining: AtomicBool::new(false),
            leaving: CancellationToken::new(),
        }));
        let supervisors = runs.0.supervisors.clone();
        tokio::task::spawn_blocking(move || supervisors.prepare());
        adopt::adopt(&runs, unended).await;
        groups::adopt_groups(&runs);
        runs.0.tasks.spawn(runs.clone().take_in(later));
        let shared = runs.0.clone();
        runs.0.tasks.spawn_blocking(move || {
            let is_over = || shared.leaving.is_cancelled();
            shared.history.close_to_others(&shared.reuse_key, is_over);
        });
        runs.0.tasks.spawn(runs.clone().refill_index());
        let (this, leaving) = (runs.clone(), runs.0.leaving.clone());
        let expiry = loops.clone().keep("run_expiry", move || {
            this.clone().forget_the_old(clock.clone())
        });
        runs.0
            .tasks
            .spawn(leaving.run_until_cancelled_owned(expiry));
        if is_metered(&runs.0.config.limits) {
            let this = runs.clone();
            let meter = loops.keep("meter", move || meter::meter(this.clone()));
            let leaving = runs.0.leaving.clone();
            runs.0.tasks.spawn(leaving.run_until_cancelled_owned(meter));
        }
        Ok(runs)
    }

    /// Takes old runs into the index, and tells the ends of those that have one to tell.
    async fn take_in(self, later: Vec<RunId>) {
        let shared = self.0.clone();
        let indexing = move || {
            let is_over = || shared.leaving.is_cancelled();
            let is_new = !later.is_empty();
            let unended = shared.history.index_the_rest(later, is_over);
            if is_new {
                shared.index_tests();
            }
            unended
        };
        match self.0.tasks.spawn_blocking(indexing).await {
            Ok(unended) => adopt::adopt(&self, unended).await,
            Err(error) => tracing::error!(%error, "failed to index old runs"),
        }
    }

    /// Whenever the index turns out to be broken while it is in use, and is made anew: tells it of all runs again.
    async fn refill_index(self) {
        let leaving = self.0.leaving.clone();
        let emptied = || leaving.run_until_cancelled(self.0.history.store().emptied());
        while emptied().await.is_some() {
            let runs = self.clone();
            let filled = self.0.tasks.spawn_blocking(move || {
                let live = |id| runs.live(id).map(|live| live.record());
                runs.0.history.index_again(live)
            });
            match filled.await {
                Ok(runs) => tracing::info!(runs, "the index of runs is whole again"),
                Err(error) => tracing::error!(%error, "failed to index the runs again"),
            }
        }
    }

    /// From time to time lets go of runs that are beyond what is to be kept.
    async fn forget_the_old(self, clock: SteadyClock) {
        let kept = &self.0.config.history;
        let retention = Retention {
            age: kept.keep,
            count: kept.max_runs,
            bytes: kept.max_bytes.as_u64(),
        };
        loop {
            let (shared, beyond, clock) = (self.0.clone(), retention.clone(), clock.clone());
            let expired = tokio::task::spawn_blocking(move || {
                let now = clock.now();
                shared.groups.expire(beyond.age, now);
                let expired = shared.history.expire(&beyond, now);
                shared.index_tests();
                expired
            })
            .await;
            match expired {
                Ok(Ok(gone)) => {
                    artifacts::forget(&self.0, &gone);
                    if let (Some(first), Some(last)) = (gone.first(), gone.last()) {
                        tracing::info!(runs = gone.len(), %first, %last, "old runs were let go of");
                    }
                }
                Ok(Err(error)) => tracing::error!(%error, "failed to let go of old runs"),
                Err(error) => tracing::error!(%error, "failed to let go of old runs"),
            }
            self.0.keys.forget_expired();
            tokio::time::sleep(LOOK_FOR_OLD).await;
        }
    }

    /// How runs are held within their limits here, in words.
    pub fn held_by(&self) -> String {
        self.0.mechanisms.describe()
    }

    /// What builds are kept from here, and by what.
    pub fn sandbox(&self) -> SandboxReport {
        self.0.sandboxes.report()
    }

    pub fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Acquire)
    }

    /// Takes no new runs from now on.
    pub fn refuse_new(&self) {
        self.0.draining.store(true, Ordering::Release);
    }

    /// Returns when no run is left but those in the background, and no group that has its end to tell.
    pub async fn idle(&self) {
        loop {
            let run = {
                let mut live = self.0.live.iter();
                let run = live.find(|live| !live.look().spec.background);
                run.map(|live| live.clone())
            };
            let group = self.0.groups.any_live();
            match (run, group) {
                (Some(run), _) => run.ended().await,
                (None, Some(group)) => group.ended().await,
                (None, None) => return,
            }
            // Its task takes it off the list right after, unless the disk is full; let it.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Leaves the runs under way to their supervisors, and those that wait to the next daemon. Ends what
    /// goes on for as long as the daemon, so it is called even where no run is left.
    pub async fn leave(&self) {
        self.0.leaving.cancel();
        while !self.0.live.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The environment that a build here gets, before what a caller and the run itself add.
    pub fn declared_environment(
        &self,
        workspace: &Workspace,
        commit: &CommitId,
    ) -> BTreeMap<String, String> {
        let jobs = environment::job_counts("(the run's share of the cores)");
        let mut env = BTreeMap::from(jobs);
        env.extend(environment::declared(
            &self.0.config,
            workspace.repo().config(),
        ));
        let port = workspace.port();
        env.extend(environment::of_workspace(workspace, commit, port));
        env
    }
}

pub(super) fn draining() -> Problem {
    let detail = "the daemon is shutting down";
    Problem::new(ErrorKind::Unavailable, "draining", detail)
}
