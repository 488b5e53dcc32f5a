//! How many commands execute at once: in all, and per repo. First come, first served.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::model::RepoName;

#[derive(Debug)]
pub(super) struct Slots {
    all: Arc<Semaphore>,
    per_repo: DashMap<RepoName, Arc<Semaphore>>,
    waiting: AtomicUsize,
}

/// The right to execute; given back when dropped.
#[derive(Debug)]
pub(super) struct Slot {
    _repo: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl Slots {
    pub(super) fn new(max: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(max)),
            per_repo: DashMap::new(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Waits for a slot; `on_wait` is told how many are served first if it has to wait.
    pub(super) async fn take(
        &self,
        repo: &RepoName,
        max: usize,
        on_wait: impl FnOnce(usize),
    ) -> Slot {
        let of_repo = self
            .per_repo
            .entry(repo.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(max)))
            .clone();
        if let (Ok(repo), Ok(all)) = (
            of_repo.clone().try_acquire_owned(),
            self.all.clone().try_acquire_owned(),
        ) {
            return Slot {
                _repo: repo,
                _all: all,
            };
        }
        let place = Waiting::join(&self.waiting);
        on_wait(place.position);
        // The repo's own limit comes first: a repo at its limit must not sit on the slots of others.
        let repo = acquire(of_repo).await;
        let all = acquire(self.all.clone()).await;
        Slot {
            _repo: repo,
            _all: all,
        }
    }
}

async fn acquire(semaphore: Arc<Semaphore>) -> OwnedSemaphorePermit {
    match semaphore.acquire_owned().await {
        Ok(permit) => permit,
        // Nobody ever closes these semaphores.
        Err(_) => std::future::pending().await,
    }
}

struct Waiting<'a> {
    count: &'a AtomicUsize,
    position: usize,
}

impl<'a> Waiting<'a> {
    fn join(count: &'a AtomicUsize) -> Self {
        let position = count.fetch_add(1, Ordering::Relaxed) + 1;
        Self { count, position }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::Relaxed);
    }
}
