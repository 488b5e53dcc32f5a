//! A repo that is watched: why its remote is to be asked, and what came of that.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::pulls::{PullHint, PullHints};
use crate::reason::Reason;
use crate::seen::{SeenFile, SeenRefs};
use branchyard_db::security_db::audit::Audit;
use branchyard_model::{NamedRef, Problem, RepoName};
use branchyard_pipelines::Pipelines;
use branchyard_runs::Runs;
use branchyard_workspace::repos::{Repo, Repos};

/// How a repo is watched for what starts by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WatchStatus {
    /// When the remote was last asked what is new, and answered.
    pub looked_at: Option<Timestamp>,
    /// Why it could not be asked since, or what could not be started yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug)]
pub(crate) struct RepoWatch {
    name: RepoName,
    repos: Arc<Repos>,
    pipelines: Pipelines,
    runs: Runs,
    audit: Audit,
    file: SeenFile,
    pulls: PullHints,
    /// Why it is to look, if it is.
    asked: Mutex<Option<Reason>>,
    wake: Notify,
    status: Mutex<WatchStatus>,
    /// Held while it looks.
    turns: tokio::sync::Mutex<()>,
}

impl RepoWatch {
    pub(crate) fn new(
        name: RepoName,
        dir: &Path,
        (repos, pipelines, runs): (&Arc<Repos>, &Pipelines, &Runs),
        audit: &Audit,
    ) -> Self {
        Self {
            file: SeenFile::of(dir, &name),
            pulls: PullHints::open(dir, &name),
            name,
            repos: repos.clone(),
            pipelines: pipelines.clone(),
            runs: runs.clone(),
            audit: audit.clone(),
            asked: Mutex::new(None),
            wake: Notify::new(),
            status: Mutex::default(),
            turns: tokio::sync::Mutex::default(),
        }
    }

    pub(crate) fn status(&self) -> WatchStatus {
        self.status.lock().clone()
    }

    /// Has it look soon.
    pub(crate) fn ask(&self, reason: Reason) {
        let mut asked = self.asked.lock();
        *asked = (*asked).max(Some(reason));
        self.wake.notify_one();
    }

    /// Has it look at a pull request soon, even if the daemon ends before.
    pub(crate) fn ask_of_pull(&self, named: &NamedRef, hint: PullHint) -> Result<(), Problem> {
        self.pulls.add(named, hint)?;
        self.ask(Reason::Hook);
        Ok(())
    }

    pub(crate) fn repo(&self) -> Result<Arc<Repo>, Problem> {
        self.repos.get(&self.name)
    }

    pub(crate) fn pipelines(&self) -> &Pipelines {
        &self.pipelines
    }

    pub(crate) fn runs(&self) -> &Runs {
        &self.runs
    }

    pub(crate) fn audit(&self) -> &Audit {
        &self.audit
    }

    pub(crate) fn pulls(&self) -> &PullHints {
        &self.pulls
    }

    pub(crate) fn save(&self, seen: &SeenRefs) -> Result<(), Problem> {
        self.file.write(seen).map_err(|error| {
            let detail = "what the remote was seen to have could not be written down";
            Problem::unwritten("seen_not_recorded", detail, &error)
        })
    }

    pub(crate) fn name(&self) -> &RepoName {
        &self.name
    }

    /// Waits until nothing is looked for, and keeps it so for as long as the guard is kept.
    pub(crate) async fn take_turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turns.lock().await
    }

    /// What an earlier daemon saw.
    pub(crate) fn read(&self) -> io::Result<Option<SeenRefs>> {
        self.file.read()
    }

    /// Why it is to look, if it is. It is not asked any more.
    pub(crate) fn take_reason(&self) -> Option<Reason> {
        self.asked.lock().take()
    }

    pub(crate) fn note(&self, status: WatchStatus) {
        *self.status.lock() = status;
    }

    /// Notes why the remote could not be asked.
    pub(crate) fn note_problem(&self, problem: Problem) {
        self.status.lock().problem = Some(problem.outward().detail);
    }

    /// Waits until it is to look, and no longer than this.
    pub(crate) async fn wait(&self, most: Duration) {
        // Running out of time is as good.
        let _ = tokio::time::timeout(most, self.wake.notified()).await;
    }
}
