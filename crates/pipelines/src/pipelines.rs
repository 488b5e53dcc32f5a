//! All pipelines of a daemon: found on disk when it starts, started, looked for, stopped.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;

use crate::adopt;
use crate::concurrency::ConcurrencyGroups;
use crate::disk::PipelineDisk;
use crate::held::HeldWorktree;
use crate::list::PipelineEntry;
use crate::live::LivePipeline;
use crate::reuse::ReusePlace;
use branchyard_artifacts::{ArtifactLimits, ArtifactStore, CacheLimits, CacheStore, SetOwner};
use branchyard_config::Config;
use branchyard_model::{ErrorKind, PipelineId, PipelineRecord, Problem};
use branchyard_runs::{Runs, View, stop_note};
use branchyard_runtime::background::Background;
use branchyard_runtime::clock::SteadyClock;
use branchyard_runtime::disk::{DiskGuard, Trash, if_there};
use branchyard_workspace::Workspaces;
use branchyard_workspace::repos::Repos;

/// How often the history is looked through for what is too old.
const LOOK_FOR_OLD: Duration = Duration::from_secs(10 * 60);

/// What pipelines are made of.
#[derive(Debug)]
pub struct PipelineParts {
    pub config: Arc<Config>,
    pub repos: Arc<Repos>,
    pub workspaces: Arc<Workspaces>,
    pub runs: Runs,
    pub artifacts: Arc<ArtifactStore>,
    pub margin: DiskGuard,
    pub trash: Trash,
    pub background: Background,
    pub clock: SteadyClock,
    /// What has not ended is another yard's.
    pub is_copy: bool,
}

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
    pub(crate) live: DashMap<PipelineId, Arc<LivePipeline>>,
    /// All of them, live or ended.
    pub(crate) known: RwLock<BTreeMap<PipelineId, PipelineEntry>>,
    pub(crate) groups: ConcurrencyGroups,
    /// Jobs that may answer for others, by what they saw.
    pub(crate) reusable: Mutex<HashMap<String, Vec<ReusePlace>>>,
    /// The oldest first.
    pub(crate) held: Mutex<Vec<HeldWorktree>>,
    /// Held while the record of a pipeline that has ended is changed.
    pub(crate) retrying: Mutex<()>,
    pub(crate) leaving: CancellationToken,
}

impl Pipelines {
    /// Opens the pipelines on disk and goes on with those that have not ended. To be called after the runs were opened, and
    /// before anyone is served.
    pub fn open(parts: PipelineParts) -> io::Result<Self> {
        let PipelineParts {
            config,
            repos,
            workspaces,
            runs,
            artifacts,
            margin,
            trash,
            background,
            clock,
            is_copy,
        } = parts;
        let caches = CacheStore::open(margin.state(), cache_limits(&config), trash.clone())?;
        let disk = Arc::new(PipelineDisk::open(margin.state(), trash)?);
        let pipelines = Self(Arc::new(PipelinesInner {
            config,
            repos,
            workspaces,
            runs,
            margin,
            tasks: background.tasks,
            disk,
            artifacts,
            caches: Arc::new(caches),
            live: DashMap::new(),
            known: RwLock::default(),
            groups: ConcurrencyGroups::default(),
            reusable: Mutex::default(),
            held: Mutex::default(),
            retrying: Mutex::default(),
            leaving: CancellationToken::new(),
        }));
        adopt::adopt(&pipelines, is_copy);
        let (this, leaving) = (pipelines.clone(), pipelines.0.leaving.clone());
        let expiry = background.loops.keep("pipeline_expiry", move || {
            this.clone().forget_the_old(clock.clone())
        });
        let expiry = leaving.run_until_cancelled_owned(expiry);
        pipelines.0.tasks.spawn(expiry);
        Ok(pipelines)
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

    /// What the steps of a job wrote to be read by people; empty if they wrote nothing. Blocks.
    pub fn summary(&self, id: PipelineId, job: &str) -> Result<String, Problem> {
        let record = self.record(id)?;
        let found = record.jobs.iter().find(|other| other.job == job);
        let job = found.ok_or_else(|| job_not_found(id, job))?;
        let dirs = self.0.disk.dirs(id, (&job.job, job.attempt), 0);
        match if_there(std::fs::read(dirs.summary())) {
            Ok(text) => Ok(String::from_utf8_lossy(&text.unwrap_or_default()).into_owned()),
            Err(error) => {
                let detail = format!("the summary of the job cannot be read: {error}");
                Err(Problem::new(
                    ErrorKind::Internal,
                    "summary_unreadable",
                    detail,
                ))
            }
        }
    }

    /// From time to time lets go of pipelines that are beyond what is to be kept.
    async fn forget_the_old(self, clock: SteadyClock) {
        loop {
            let (this, now) = (self.clone(), clock.now());
            let looked = tokio::task::spawn_blocking(move || this.expire(now)).await;
            if let Err(error) = looked {
                tracing::error!(%error, "failed to let go of old pipelines");
            }
            tokio::time::sleep(LOOK_FOR_OLD).await;
        }
    }

    fn expire(&self, now: Timestamp) {
        self.forget_pipelines(now);
        self.sweep_artifacts(now);
        self.forget_snapshots(now);
    }

    fn forget_pipelines(&self, now: Timestamp) {
        let kept = &self.0.config.pipelines;
        let age = SignedDuration::try_from(kept.keep).unwrap_or(SignedDuration::MAX);
        let horizon = now.checked_sub(age).unwrap_or(Timestamp::MIN);
        let ids: Vec<_> = self.0.known.read().keys().copied().collect();
        let beyond = ids.len().saturating_sub(kept.max_pipelines);
        for (at, id) in ids.into_iter().enumerate() {
            let is_old = at < beyond || id.made_at() < horizon;
            if !is_old || self.0.live.contains_key(&id) {
                continue;
            }
            match self.0.disk.remove(id) {
                Ok(()) => {
                    self.0.known.write().remove(&id);
                    self.0.held.lock().retain(|held| held.pipeline != id);
                    self.forget_reusable(id);
                    if let Err(error) = self.0.artifacts.remove_owner(&SetOwner::Pipeline(id)) {
                        tracing::warn!(pipeline = %id, %error, "the artifacts of a pipeline stay");
                    }
                    tracing::info!(pipeline = %id, "an old pipeline was let go of");
                }
                Err(error) => {
                    tracing::warn!(pipeline = %id, %error, "failed to remove a pipeline");
                }
            }
        }
    }
}

/// Opens the artifacts in `state`, with the limits that the operator sets. They are of runs, too.
pub fn open_artifacts(config: &Config, state: &Path) -> io::Result<ArtifactStore> {
    let artifacts = &config.artifacts;
    let limits = ArtifactLimits {
        max_size: artifacts.max_size.as_u64(),
        max_files: artifacts.max_files,
        keep: artifacts.keep,
        max_bytes: artifacts.max_bytes.as_u64(),
    };
    ArtifactStore::open(state, limits)
}

fn cache_limits(config: &Config) -> CacheLimits {
    let caches = &config.caches;
    CacheLimits {
        max_size: caches.max_size.as_u64(),
        max_files: caches.max_files,
        max_bytes: caches.max_bytes.as_u64(),
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
