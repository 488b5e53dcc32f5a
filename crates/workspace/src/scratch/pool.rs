//! The pool of scratch worktrees, of all repos.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::held::HeldScratch;
use super::lease::ScratchLease;
use super::leased::LeasedWorktree;
use super::queue::{Hold, RepoScratch};
use super::shared::PoolShared;
use crate::Ticks;
use crate::repos::Repo;
use crate::setup::KeptSetups;
use branchyard_git::DetachedWorktree;
use branchyard_model::RepoName;
use branchyard_runtime::disk::Trash;

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct ScratchPool(Arc<PoolShared>);

/// A scratch worktree that is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchUse {
    pub repo: RepoName,
    pub number: u32,
    /// It is held beside the pool, and no job's any more.
    pub is_held: bool,
}

impl ScratchPool {
    pub(super) fn shared(&self) -> &PoolShared {
        &self.0
    }

    pub(crate) fn new(
        trash: Trash,
        tasks: TaskTracker,
        checkouts: Arc<Semaphore>,
        ticks: Arc<Ticks>,
        setups: Arc<KeptSetups>,
    ) -> Self {
        let shared = PoolShared::new(trash, tasks, (checkouts, ticks), setups);
        Self(Arc::new(shared))
    }

    /// Waits in line until fewer than `max` of this repo are leased. `on_wait` is told the place in the line, from 1, at once
    /// and whenever it changes.
    pub async fn lease(
        &self,
        repo: &Arc<Repo>,
        max: usize,
        mut on_wait: impl FnMut(usize),
    ) -> ScratchLease {
        let mut changed = self.0.changes();
        let place = Place {
            ticket: self.0.with(repo, RepoScratch::enter),
            pool: self,
            repo,
        };
        let mut told = None;
        loop {
            changed.mark_unchanged();
            match self.0.with(repo, |known| known.take(place.ticket, max)) {
                Ok(number) => return ScratchLease::of(self.leased(repo, number)),
                Err(now) if told != Some(now) => {
                    on_wait(now);
                    told = Some(now);
                }
                Err(_) => {}
            }
            // The sender lives as long as this pool.
            let _ = changed.changed().await;
        }
    }

    /// Takes the lease of a number again that an earlier daemon had given, however many are leased. `None` if there is no such
    /// worktree any more, or it is in use.
    pub fn adopt(&self, repo: &Arc<Repo>, number: u32) -> Option<ScratchLease> {
        let leased = self.adopt_as(repo, number, Hold::Leased)?;
        Some(ScratchLease::of(leased))
    }

    /// As [`ScratchPool::adopt`], of one that was held.
    pub fn adopt_held(&self, repo: &Arc<Repo>, number: u32) -> Option<HeldScratch> {
        let leased = self.adopt_as(repo, number, Hold::Held)?;
        Some(HeldScratch::of(leased))
    }

    /// All that are leased or held, sorted.
    pub fn in_use(&self) -> Vec<ScratchUse> {
        let repos = self.0.repos().lock();
        let all = repos.iter().flat_map(|(repo, known)| {
            let used = known.out().iter();
            let used = used.filter(|(_, hold)| **hold != Hold::Removing);
            used.map(|(number, hold)| ScratchUse {
                repo: repo.clone(),
                number: *number,
                is_held: *hold == Hold::Held,
            })
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by(|one, other| (&one.repo, one.number).cmp(&(&other.repo, other.number)));
        all
    }

    /// Does `work` on the directory of a repo of which no scratch worktree is in use, and none is given out meanwhile; `None`
    /// if one is. It must be quick.
    pub(crate) fn while_none_is_used<T>(
        &self,
        repo: &RepoName,
        work: impl FnOnce() -> T,
    ) -> Option<T> {
        let mut repos = self.0.repos().lock();
        let known = repos.get(repo);
        if known.is_some_and(|known| !known.out().is_empty()) {
            return None;
        }
        let done = work();
        // What is left on disk is found again.
        if known.is_some_and(|known| known.is_unwanted()) {
            repos.remove(repo);
        }
        Some(done)
    }

    /// Whether one of this repo is in use.
    pub(crate) fn is_any_used(&self, repo: &RepoName) -> bool {
        let repos = self.0.repos().lock();
        repos.get(repo).is_some_and(|known| !known.out().is_empty())
    }

    fn adopt_as(&self, repo: &Arc<Repo>, number: u32, hold: Hold) -> Option<Arc<LeasedWorktree>> {
        let is_there = DetachedWorktree::scratch(repo.store(), number)
            .path()
            .is_dir();
        let is_taken = is_there && self.0.with(repo, |known| known.take_number(number, hold));
        is_taken.then(|| self.leased(repo, number))
    }

    fn leased(&self, repo: &Arc<Repo>, number: u32) -> Arc<LeasedWorktree> {
        Arc::new(LeasedWorktree::new(self.0.clone(), repo.clone(), number))
    }
}

/// A place in the line, which is left when this is dropped.
struct Place<'a> {
    ticket: u64,
    pool: &'a ScratchPool,
    repo: &'a Repo,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.pool
            .0
            .with(self.repo, |known| known.leave(self.ticket));
        self.pool.0.wake();
    }
}
