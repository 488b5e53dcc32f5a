//! Opening all pipelines of a daemon, and letting go of old ones.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dashmap::DashMap;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, RwLock};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::concurrency::ConcurrencyGroups;
use crate::disk::PipelineDisk;
use crate::held_worktrees::HeldWorktrees;
use crate::pipelines::{Pipelines, PipelinesInner};
use crate::reuse_places::ReusePlaces;
use crate::{adopt, artifacts, source, test_index};
use branchyard_artifacts::{ArtifactLimits, ArtifactStore, CacheLimits, CacheStore, SetOwner};
use branchyard_config::Config;
use branchyard_db::security_db::audit::Audit;
use branchyard_outbox::Outbox;
use branchyard_runs::Runs;
use branchyard_runtime::background::Background;
use branchyard_runtime::clock::SteadyClock;
use branchyard_runtime::disk::{DiskGuard, Trash};
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
    pub outbox: Outbox,
    pub audit: Audit,
    pub margin: DiskGuard,
    pub trash: Trash,
    pub background: Background,
    pub clock: SteadyClock,
    /// What has not ended is another yard's.
    pub is_copy: bool,
}

/// Opens the pipelines on disk and goes on with those that have not ended. To be called after the runs were opened, and
/// before anyone is served.
pub fn open(parts: PipelineParts) -> io::Result<Pipelines> {
    let PipelineParts {
        config,
        repos,
        workspaces,
        runs,
        artifacts,
        outbox,
        audit,
        margin,
        trash,
        background,
        clock,
        is_copy,
    } = parts;
    let caches = CacheStore::open(margin.state(), cache_limits(&config), trash.clone())?;
    let disk = Arc::new(PipelineDisk::open(margin.state(), trash)?);
    let pipelines = Pipelines::of(PipelinesInner {
        config,
        repos,
        workspaces,
        runs,
        margin,
        tasks: background.tasks,
        disk,
        artifacts,
        caches: Arc::new(caches),
        outbox,
        audit,
        live: DashMap::new(),
        known: RwLock::default(),
        groups: ConcurrencyGroups::default(),
        reusable: ReusePlaces::default(),
        held: HeldWorktrees::default(),
        retrying: Mutex::default(),
        forecasts: Semaphore::new(1),
        leaving: CancellationToken::new(),
    });
    adopt::adopt(&pipelines, is_copy);
    let (this, leaving) = (pipelines.clone(), pipelines.inner().leaving.clone());
    let expiry = background.loops.keep("pipeline_expiry", move || {
        forget_the_old(this.clone(), clock.clone())
    });
    let expiry = leaving.run_until_cancelled_owned(expiry);
    pipelines.inner().tasks.spawn(expiry);
    Ok(pipelines)
}

/// From time to time lets go of pipelines that are beyond what is to be kept.
async fn forget_the_old(pipelines: Pipelines, clock: SteadyClock) {
    loop {
        let (this, now) = (pipelines.clone(), clock.now());
        let looked = tokio::task::spawn_blocking(move || {
            forget_pipelines(&this, now);
            artifacts::sweep(&this, now);
            source::forget_snapshots(&this, now);
            source::forget_fetched(&this);
            test_index::index_missing(&this);
        });
        if let Err(error) = looked.await {
            tracing::error!(%error, "failed to let go of old pipelines");
        }
        tokio::time::sleep(LOOK_FOR_OLD).await;
    }
}

fn forget_pipelines(pipelines: &Pipelines, now: Timestamp) {
    let inner = pipelines.inner();
    let kept = &inner.config.pipelines;
    let age = SignedDuration::try_from(kept.keep).unwrap_or(SignedDuration::MAX);
    let horizon = now.checked_sub(age).unwrap_or(Timestamp::MIN);
    let ids: Vec<_> = inner.known.read().keys().copied().collect();
    let beyond = ids.len().saturating_sub(kept.max_pipelines);
    for (at, id) in ids.into_iter().enumerate() {
        let is_old = at < beyond || id.made_at() < horizon;
        if !is_old || inner.live.contains_key(&id) {
            continue;
        }
        match inner.disk.remove(id) {
            Ok(()) => {
                inner.known.write().remove(&id);
                inner.held.forget(id);
                inner.reusable.forget(id);
                test_index::forget(pipelines, id);
                if let Err(error) = inner.artifacts.remove_owner(&SetOwner::Pipeline(id)) {
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
