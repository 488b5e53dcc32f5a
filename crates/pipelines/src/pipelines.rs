//! All pipelines of a daemon: looked for, listed, stopped.

use std::collections::BTreeMap;
use std::sync::Arc;

use dashmap::DashMap;
use parking_lot::{Mutex, RwLock};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::concurrency::ConcurrencyGroups;
use crate::disk::PipelineDisk;
use crate::held_worktrees::HeldWorktrees;
use crate::list::{PipelineEntry, PipelineFilter};
use crate::live::LivePipeline;
use crate::reuse_places::ReusePlaces;
use branchyard_artifacts::{ArtifactStore, CacheStore};
use branchyard_config::Config;
use branchyard_db::security_db::audit::Audit;
use branchyard_model::{BranchName, ErrorKind, PipelineId, PipelineRecord, Problem, RepoName};
use branchyard_outbox::Outbox;
use branchyard_runs::{Runs, View, stop_note};
use branchyard_runtime::disk::{DiskGuard, if_there};
use branchyard_workspace::Workspaces;
use branchyard_workspace::repos::Repos;

/// All pipelines; cheap to clone.
#[derive(Debug, Clone)]
pub struct Pipelines(Arc<PipelinesInner>);

#[derive(Debug)]
pub(crate) struct PipelinesInner {
    pub(crate) config: Arc<Config>,
    pub(crate) repos: Arc<Repos>,
    pub(crate) workspaces: Arc<Workspaces>,
    pub(crate) runs: Runs,
    pub(crate) margin: DiskGuard,
    pub(crate) tasks: tokio_util::task::TaskTracker,
    pub(crate) disk: Arc<PipelineDisk>,
    pub(crate) artifacts: Arc<ArtifactStore>,
    pub(crate) caches: Arc<CacheStore>,
    pub(crate) outbox: Outbox,
    /// Of what starts by itself; callers' requests are recorded where they come in.
    pub(crate) audit: Audit,
    pub(crate) live: DashMap<PipelineId, Arc<LivePipeline>>,
    /// All of them, live or ended.
    pub(crate) known: RwLock<BTreeMap<PipelineId, PipelineEntry>>,
    pub(crate) groups: ConcurrencyGroups,
    /// Jobs that may answer for others, by what they saw.
    pub(crate) reusable: ReusePlaces,
    pub(crate) held: HeldWorktrees,
    /// Held while the record of a pipeline that has ended is changed.
    pub(crate) retrying: Mutex<()>,
    /// One is made at a time.
    pub(crate) forecasts: Semaphore,
    pub(crate) leaving: CancellationToken,
}

impl Pipelines {
    pub(crate) fn of(inner: PipelinesInner) -> Self {
        Self(Arc::new(inner))
    }

    pub(crate) fn inner(&self) -> &Arc<PipelinesInner> {
        &self.0
    }

    /// The pipeline as others may see it.
    pub fn record(&self, id: PipelineId) -> Result<PipelineRecord, Problem> {
        if let Some(live) = self.live(id) {
            return Ok(live.record().shown());
        }
        let loaded = self.0.disk.load(id).map_err(|error| {
            let detail = format!("the record of the pipeline cannot be read: {error}");
            Problem::new(ErrorKind::Internal, "pipeline_unreadable", detail)
        })?;
        let record = loaded.ok_or_else(|| pipeline_not_found(id))?;
        Ok(record.shown())
    }

    /// The pipeline, if it has not ended.
    pub fn live(&self, id: PipelineId) -> Option<Arc<LivePipeline>> {
        self.0.live.get(&id).map(|live| live.clone())
    }

    /// The pipeline's journal, live or ended.
    pub fn view(&self, id: PipelineId) -> Result<View, Problem> {
        let journal = self.0.disk.journal(id);
        match self.live(id) {
            Some(live) => Ok(View::of_live(journal, live.extent(), live.viewers())),
            None => self.record(id).and_then(|_| View::of_ended(journal)),
        }
    }

    /// Stops a pipeline that has not ended: its running steps are told to stop, and its other jobs do not start.
    pub fn cancel(&self, id: PipelineId, principal: &str) -> Result<PipelineRecord, Problem> {
        if let Some(live) = self.live(id) {
            let reason = format!("cancelled by {principal}");
            live.viewers().stop(&reason);
            if let Err(error) = stop_note::write(&self.0.disk.home(id), &reason) {
                let detail = "the pipeline is told to stop, but should the daemon end now, the next one would not know of it";
                return Err(Problem::unwritten("cancel_not_recorded", detail, &error));
            }
        }
        self.record(id)
    }

    /// Leaves the pipelines under way to the next daemon. To be called before the runs are left.
    pub fn leave(&self) {
        self.0.leaving.cancel();
    }

    /// Ends when the daemon leaves.
    pub fn leaving(&self) -> CancellationToken {
        self.0.leaving.clone()
    }

    /// What the steps of a job wrote to be read by people; empty if they wrote nothing. Blocks.
    pub fn summary(&self, id: PipelineId, job: &str) -> Result<String, Problem> {
        let record = self.record(id)?;
        let found = record.jobs.iter().find(|other| other.job == job);
        let job = found.ok_or_else(|| job_not_found(id, job))?;
        if let Some(by) = &job.answered_by {
            // An old one may have been let go of.
            return Ok(self.summary(by.pipeline, &by.job).unwrap_or_default());
        }
        let dirs = self.0.disk.dirs(id, (&job.job, job.attempt), 0);
        let mut whole = Vec::new();
        for step in &job.steps {
            let text = if_there(std::fs::read(dirs.summary(step.number))).map_err(|error| {
                let detail = format!("the summary of the job cannot be read: {error}");
                Problem::new(ErrorKind::Internal, "summary_unreadable", detail)
            })?;
            whole.extend(text.unwrap_or_default());
        }
        Ok(String::from_utf8_lossy(&whole).into_owned())
    }

    /// Pipelines of a repo by `filter`, of branches of which `is_seen` holds, newest first, at most `limit`; and whether
    /// there are more. Blocks.
    pub fn list(
        &self,
        repo: &RepoName,
        filter: &PipelineFilter,
        limit: usize,
        is_seen: impl Fn(&BranchName) -> bool,
    ) -> Result<(Vec<PipelineRecord>, bool), Problem> {
        let mut ids: Vec<_> = {
            let known = self.0.known.read();
            let wanted = known.iter().rev().filter(|(id, entry)| {
                let state = || {
                    let live = self.live(**id);
                    live.map_or(entry.state, |live| live.look(|record| record.state))
                };
                entry.repo == *repo
                    && filter.before.is_none_or(|before| **id < before)
                    && filter.takes(entry, state)
                    && is_seen(&entry.branch)
            });
            wanted.map(|(id, _)| *id).take(limit + 1).collect()
        };
        let is_more = ids.len() > limit;
        ids.truncate(limit);
        // One that was let go of meanwhile is left out.
        let records = ids.into_iter().filter_map(|id| self.record(id).ok());
        Ok((records.collect(), is_more))
    }

    /// Has lists know of a pipeline, as it is now.
    pub(crate) fn note(&self, record: &PipelineRecord) {
        self.0.reusable.note(record);
        let entry = PipelineEntry::of(record);
        self.0.known.write().insert(record.pipeline_id, entry);
    }
}

/// The answer to an id that is of no pipeline, or not of one's own.
pub fn pipeline_not_found(id: PipelineId) -> Problem {
    let detail = format!("there is no pipeline {id}");
    Problem::new(ErrorKind::NotFound, "pipeline_not_found", detail)
        .field("pipeline_id")
        .help("GET /api/repos/{repo}/pipelines or `branchyard pipeline list` lists them")
}

pub(crate) fn job_not_found(id: PipelineId, job: &str) -> Problem {
    let detail = format!("the pipeline {id} has no job {job:?}");
    Problem::new(ErrorKind::NotFound, "job_not_found", detail)
        .field("jobs")
        .help("GET /api/pipelines/{id} lists them, as `job`")
}
