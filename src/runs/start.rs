//! Starting runs and finding them again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dashmap::DashMap;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::audience::Audience;
use super::drive::{Checks, Drive};
use super::environment;
use super::finish;
use super::history::{Filter, History};
use super::live::{Live, View};
use super::request::{Action, RunRequest};
use super::slots::Slots;
use super::spec;
use crate::auth::Principal;
use crate::config::Config;
use crate::journal::Writer;
use crate::model::{
    BranchName, ErrorKind, Event, Problem, RepoName, RunId, RunRecord, RunSpec, Status,
};
use crate::repos::{Repo, Repos};
use crate::workspace::{Workspace, Workspaces};

/// A remote that answers within this decides about an unknown branch before the stream opens.
const REMOTE_PATIENCE: Duration = Duration::from_secs(3);

/// All runs; cheap to clone.
#[derive(Debug, Clone)]
pub struct Runs(Arc<Shared>);

#[derive(Debug)]
pub(super) struct Shared {
    pub(super) config: Arc<Config>,
    repos: Arc<Repos>,
    workspaces: Arc<Workspaces>,
    pub(super) history: History,
    pub(super) live: DashMap<RunId, Arc<Live>>,
    pub(super) slots: Slots,
    pub(super) tasks: TaskTracker,
    draining: AtomicBool,
}

impl Runs {
    /// Opens the runs on disk. Those that an earlier daemon left without an end are called lost, and
    /// whatever is left of them is ended.
    pub fn open(
        config: Arc<Config>,
        repos: Arc<Repos>,
        workspaces: Arc<Workspaces>,
        tasks: TaskTracker,
        state: &Path,
    ) -> std::io::Result<Self> {
        let history = History::open(state)?;
        finish::bury_the_lost(&history);
        Ok(Self(Arc::new(Shared {
            slots: Slots::new(config.limits.max_concurrent_runs),
            config,
            repos,
            workspaces,
            history,
            live: DashMap::new(),
            tasks,
            draining: AtomicBool::new(false),
        })))
    }

    /// Checks everything that can be checked and starts the run's task. Every refusal comes from here,
    /// before anything was written.
    pub async fn start(
        &self,
        repo: &RepoName,
        branch: &BranchName,
        (action, request): (Action, RunRequest),
        principal: &Principal,
    ) -> Result<Arc<Live>, Problem> {
        let asked_at = Instant::now();
        if self.is_draining() {
            return Err(Problem::new(
                ErrorKind::Unavailable,
                "draining",
                "the daemon is shutting down",
            ));
        }
        request.check_place(repo, branch)?;
        let repo = self.0.repos.get(repo)?;
        let (spec, checks) = spec::of(&self.0.config, &repo, branch, &action, request, principal)?;
        let workspace = self.0.workspaces.get(&repo, branch);
        self.check_branch(&repo, &workspace, asked_at).await?;
        let live = self
            .launch(spec, checks, workspace, asked_at)
            .map_err(|error| {
                Problem::new(
                    ErrorKind::Internal,
                    "run_not_recorded",
                    format!("failed to record the run: {error}"),
                )
            })?;
        Ok(live)
    }

    pub fn live(&self, id: RunId) -> Option<Arc<Live>> {
        self.0.live.get(&id).map(|live| live.clone())
    }

    /// How many runs have not ended, and how many viewers they have.
    pub fn census(&self) -> (usize, usize) {
        let viewers = self.0.live.iter().map(|live| live.viewers()).sum();
        (self.0.live.len(), viewers)
    }

    /// The run as others may see it.
    pub fn record(&self, id: RunId) -> Result<RunRecord, Problem> {
        match self.live(id) {
            Some(live) => Ok(live.record().shown()),
            None => self
                .0
                .history
                .load(id)
                .map(RunRecord::shown)
                .ok_or_else(|| not_found(id)),
        }
    }

    /// The run's journal, live or ended.
    pub fn view(&self, id: RunId) -> Result<View, Problem> {
        let journal = self.0.history.journal(id);
        match self.live(id) {
            Some(live) => Ok(View::of_live(live, journal)),
            None => View::of_ended(
                self.0.history.load(id).ok_or_else(|| not_found(id))?,
                journal,
            ),
        }
    }

    /// Runs by `filter`, newest first, at most `limit`; and whether there are more.
    pub fn list(&self, filter: &Filter, limit: usize) -> (Vec<RunRecord>, bool) {
        let mut found = Vec::new();
        for id in self.0.history.ids() {
            if filter.before.is_some_and(|before| id >= before) {
                continue;
            }
            let Ok(record) = self.record(id) else {
                continue;
            };
            if filter.accepts(&record) {
                if found.len() == limit {
                    return (found, true);
                }
                found.push(record);
            }
        }
        (found, false)
    }

    /// Stops a run that has not ended; an ended one stays as it is.
    pub fn cancel(&self, id: RunId, principal: &str) -> Result<RunRecord, Problem> {
        if let Some(live) = self.live(id) {
            live.cancel(&format!("cancelled by {principal}"));
        }
        self.record(id)
    }

    pub fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Acquire)
    }

    /// Takes no new runs from now on.
    pub fn refuse_new(&self) {
        self.0.draining.store(true, Ordering::Release);
    }

    /// Returns when no run is left.
    pub async fn idle(&self) {
        loop {
            let Some(live) = self.0.live.iter().next().map(|live| live.clone()) else {
                return;
            };
            live.ended().await;
            // The run's task takes it off the list right after; let it.
            tokio::task::yield_now().await;
        }
    }

    pub fn cancel_all(&self, reason: &str) {
        for live in &self.0.live {
            live.cancel(reason);
        }
    }

    /// A branch without a workspace is asked of the remote first, so that an unknown one is refused as
    /// such. A slow remote is left to the run itself.
    async fn check_branch(
        &self,
        repo: &Arc<Repo>,
        workspace: &Arc<Workspace>,
        asked_at: Instant,
    ) -> Result<(), Problem> {
        if workspace.exists() {
            return Ok(());
        }
        match tokio::time::timeout(REMOTE_PATIENCE, workspace.check_branch(asked_at)).await {
            Ok(outcome) => outcome.map_err(|error| error.problem()),
            Err(_) => {
                tracing::debug!(repo = %repo.name, "the remote is slow; the run will find out");
                Ok(())
            }
        }
    }

    fn launch(
        &self,
        spec: RunSpec,
        checks: Checks,
        workspace: Arc<Workspace>,
        asked_at: Instant,
    ) -> std::io::Result<Arc<Live>> {
        let id = RunId::new();
        let record = RunRecord::new(id, spec);
        let history = &self.0.history;
        history.create(&record)?;
        let (mut journal, extent) = Writer::create(&history.journal(id))?;
        journal.event(&Event::Status(Status {
            state: "queued".to_owned(),
            run_id: Some(id),
            ..Status::default()
        }))?;
        let live = Arc::new(Live {
            id,
            on_disconnect: record.spec.on_disconnect,
            record: watch::channel(record).0,
            extent,
            cancelled: CancellationToken::new(),
            cancel_reason: std::sync::OnceLock::new(),
            audience: Audience::default(),
            reconnect_grace: self.0.config.timeouts.disconnect,
            tasks: self.0.tasks.clone(),
            runtime: Handle::current(),
        });
        self.0.live.insert(id, live.clone());
        if self.0.draining.load(Ordering::Acquire) {
            // The last look for runs under way may have been just before this one came.
            live.cancel("the daemon was stopped");
        }
        metrics::counter!("branchyard_runs_started_total").increment(1);
        let drive = Drive::new(
            self.0.clone(),
            live.clone(),
            workspace,
            checks,
            asked_at,
            journal,
        );
        self.0.tasks.spawn(drive.run_until_end());
        Ok(live)
    }

    /// The environment that a build of this repo gets, before what a caller adds.
    pub fn declared_environment(&self, repo: &Repo) -> std::collections::BTreeMap<String, String> {
        environment::declared(&self.0.config, &repo.config)
    }
}

fn not_found(id: RunId) -> Problem {
    Problem::new(
        ErrorKind::NotFound,
        "run_not_found",
        format!("there is no run {id}"),
    )
    .field("run_id")
    .help("GET /api/runs or `branchyard runs` lists them")
}
