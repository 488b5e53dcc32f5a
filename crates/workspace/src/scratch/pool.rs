//! The pool of scratch worktrees, of all repos.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use super::held::HeldScratch;
use super::lease::{LeasedWorktree, ScratchLease};
use super::on_disk;
use super::queue::{Hold, Idle, RepoScratch};
use crate::Ticks;
use crate::repos::Repo;
use branchyard_git::ScratchWorktree;
use branchyard_model::RepoName;
use branchyard_runtime::disk::Trash;

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct ScratchPool(Arc<PoolShared>);

#[derive(Debug)]
struct PoolShared {
    trash: Trash,
    tasks: TaskTracker,
    /// Shared with workspaces: checkouts are bound by the disk and the cores.
    checkouts: Arc<Semaphore>,
    ticks: Arc<Ticks>,
    /// Held for a few instructions and never across an await, but for the moment in which a store goes.
    repos: Mutex<HashMap<RepoName, RepoScratch>>,
    /// Ticks whenever one may be free.
    changed: watch::Sender<()>,
}

/// A scratch worktree that is in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScratchUse {
    pub repo: RepoName,
    pub number: u32,
    /// It is held beside the pool, and no job's any more.
    pub is_held: bool,
}

impl ScratchPool {
    pub fn new(
        trash: Trash,
        tasks: TaskTracker,
        checkouts: Arc<Semaphore>,
        ticks: Arc<Ticks>,
    ) -> Self {
        Self(Arc::new(PoolShared {
            trash,
            tasks,
            checkouts,
            ticks,
            repos: Mutex::default(),
            changed: watch::Sender::new(()),
        }))
    }

    /// Waits in line until fewer than `max` of this repo are leased. `on_wait` is told the place in the line, from 1, at once
    /// and whenever it changes.
    pub async fn lease(
        &self,
        repo: &Arc<Repo>,
        max: usize,
        mut on_wait: impl FnMut(usize),
    ) -> ScratchLease {
        let mut changed = self.0.changed.subscribe();
        let place = Place {
            ticket: self.with(repo, RepoScratch::enter),
            pool: self,
            repo,
        };
        let mut told = None;
        loop {
            changed.mark_unchanged();
            match self.with(repo, |known| known.take(place.ticket, max)) {
                Ok(number) => return ScratchLease(self.leased(repo, number)),
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
        Some(ScratchLease(leased))
    }

    /// As [`ScratchPool::adopt`], of one that was held.
    pub fn adopt_held(&self, repo: &Arc<Repo>, number: u32) -> Option<HeldScratch> {
        let leased = self.adopt_as(repo, number, Hold::Held)?;
        Some(HeldScratch(leased))
    }

    /// All that are leased or held, sorted.
    pub fn in_use(&self) -> Vec<ScratchUse> {
        let repos = self.0.repos.lock();
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
        let mut repos = self.0.repos.lock();
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
        let repos = self.0.repos.lock();
        repos.get(repo).is_some_and(|known| !known.out().is_empty())
    }

    pub(super) fn give_back(&self, repo: &Repo, number: u32, is_there: bool) {
        let idle = is_there.then(|| Idle {
            used: Some(self.0.ticks.now()),
            bytes: None,
        });
        self.with(repo, |known| known.give_back(number, idle));
        self.wake();
    }

    pub(super) fn hold(&self, repo: &Repo, number: u32) {
        self.with(repo, |known| known.change(number, Hold::Held));
        self.wake();
    }

    /// Has all who wait look again.
    pub(super) fn wake(&self) {
        self.0.changed.send_replace(());
    }

    /// Does `work` with what is known of a repo's. At its first use, that is what is on disk.
    pub(super) fn with<T>(&self, repo: &Repo, work: impl FnOnce(&mut RepoScratch) -> T) -> T {
        let mut repos = self.0.repos.lock();
        let known = repos.entry(repo.name().clone()).or_insert_with(|| {
            let idle = on_disk(repo).into_iter().map(|number| {
                let used = ScratchWorktree::new(repo.store(), number).used();
                (number, Idle { used, bytes: None })
            });
            RepoScratch::with_idle(idle.collect())
        });
        work(known)
    }

    pub(super) fn trash(&self) -> &Trash {
        &self.0.trash
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.0.tasks
    }

    pub(super) fn checkouts(&self) -> &Semaphore {
        &self.0.checkouts
    }

    pub(super) fn ticks(&self) -> &Ticks {
        &self.0.ticks
    }

    fn adopt_as(&self, repo: &Arc<Repo>, number: u32, hold: Hold) -> Option<Arc<LeasedWorktree>> {
        let is_there = ScratchWorktree::new(repo.store(), number).path().is_dir();
        let is_taken = is_there && self.with(repo, |known| known.take_number(number, hold));
        is_taken.then(|| self.leased(repo, number))
    }

    fn leased(&self, repo: &Arc<Repo>, number: u32) -> Arc<LeasedWorktree> {
        Arc::new(LeasedWorktree::new(self.clone(), repo.clone(), number))
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
        self.pool.with(self.repo, |known| known.leave(self.ticket));
        self.pool.wake();
    }
}
