//! Maintenance of a store: when nobody has asked for the repo in a while, or when somebody asks for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::blocking::blocking;
use super::{Repo, RepoError};
use branchyard_git::{self as git, Upkeep};
use branchyard_process::Presence;
use branchyard_runtime::yard_events::{MaintenanceEvent, YardChange};

/// Without a request for so long, a repo is idle.
const IDLE_AFTER: Duration = Duration::from_secs(10 * 60);

/// What maintenance came to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Maintained {
    pub before: Upkeep,
    pub after: Upkeep,
    pub seconds: f64,
}

/// Whether nobody would be disturbed by maintenance, and it would do any good.
pub fn is_due(repo: &Repo) -> bool {
    repo.idle_for() >= IDLE_AFTER && repo.is_cloned() && Upkeep::of(repo.store()).is_due()
}

/// Removes locks on the objects' own indexes that nobody is behind; maintenance is the only one of ours
/// that takes them.
fn clear_object_locks(repo: &Repo) -> Result<(), RepoError> {
    let objects = repo.store().path().join("objects");
    let mut locks = git::all_locks(repo.store())?;
    locks.retain(|lock| lock.path().starts_with(&objects));
    if locks.is_empty() {
        return Ok(());
    }
    let presence = Presence::below(repo.home());
    for lock in locks.iter().filter(|lock| !lock.is_held(&presence)) {
        lock.remove(repo.git())?;
    }
    Ok(())
}

/// Packs what is loose. Neither a fetch nor a build waits for it.
pub async fn maintain(this: &Arc<Repo>) -> Result<Maintained, RepoError> {
    let _alone = this.upkeep().lock().await;
    let (began, before) = (Instant::now(), Upkeep::of(this.store()));
    this.guard_store()?;
    let repo = this.clone();
    blocking(move || clear_object_locks(&repo)).await?;
    git::maintain(this.git(), this.store()).await?;
    let after = Upkeep::of(this.store());
    let seconds = began.elapsed().as_secs_f64();
    tracing::info!(repo = %this.name(), ?before, ?after, "maintained");
    this.news()
        .publish(YardChange::Maintenance(MaintenanceEvent {
            repo: this.name().clone(),
            packs_before: before.packs,
            packs: after.packs,
            seconds,
        }));
    Ok(Maintained {
        before,
        after,
        seconds,
    })
}
