//! Maintenance of a store: when nobody has asked for the repo in a while, or when somebody asks for it.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Serialize;

use super::repo::blocking;
use super::{Error, Repo};
use branchyard_git::{self as git, Upkeep};
use branchyard_process::Presence;

/// Without a request for so long, a repo is idle.
const IDLE_AFTER: Duration = Duration::from_secs(10 * 60);

/// What maintenance came to.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Maintained {
    pub before: Upkeep,
    pub after: Upkeep,
    pub seconds: f64,
}

impl Repo {
    /// Notes that somebody asked for the repo.
    pub fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Whether nobody would be disturbed by maintenance, and it would do any good.
    pub fn is_due(&self) -> bool {
        let used = *self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.elapsed() >= IDLE_AFTER && self.is_cloned() && Upkeep::of(&self.store).is_due()
    }

    /// Removes locks on the objects' own indexes that nobody is behind; maintenance is the only one of ours
    /// that takes them.
    fn clear_object_locks(&self) -> Result<(), Error> {
        let objects = self.store.path().join("objects");
        let mut locks = git::all_locks(&self.store)?;
        locks.retain(|lock| lock.path.starts_with(&objects));
        if locks.is_empty() {
            return Ok(());
        }
        let presence = Presence::below(self.home());
        for lock in locks.iter().filter(|lock| !lock.is_held(&presence)) {
            lock.remove(&self.git)?;
        }
        Ok(())
    }

    /// Packs what is loose. Neither a fetch nor a build waits for it.
    pub async fn maintain(self: &Arc<Self>) -> Result<Maintained, Error> {
        let _alone = self.upkeep.lock().await;
        let (began, before) = (Instant::now(), Upkeep::of(&self.store));
        self.guard_store()?;
        let repo = self.clone();
        blocking(move || repo.clear_object_locks()).await?;
        git::maintain(&self.git, &self.store).await?;
        let after = Upkeep::of(&self.store);
        tracing::info!(repo = %self.name, ?before, ?after, "maintained");
        Ok(Maintained {
            before,
            after,
            seconds: began.elapsed().as_secs_f64(),
        })
    }
}
