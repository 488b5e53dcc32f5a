//! What leases and the pool share: who has which scratch worktree, and what it takes to make one.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio_util::task::TaskTracker;

use super::on_disk;
use super::queue::{Hold, Idle, RepoScratch};
use crate::Ticks;
use crate::repos::Repo;
use crate::setup::KeptSetups;
use branchyard_git::DetachedWorktree;
use branchyard_model::RepoName;
use branchyard_runtime::disk::Trash;

#[derive(Debug)]
pub(super) struct PoolShared {
    trash: Trash,
    tasks: TaskTracker,
    /// Shared with workspaces: checkouts are bound by the disk and the cores.
    checkouts: Arc<Semaphore>,
    ticks: Arc<Ticks>,
    /// Shared with workspaces.
    setups: Arc<KeptSetups>,
    /// Held for a few instructions and never across an await, but for the moment in which a store goes.
    repos: Mutex<HashMap<RepoName, RepoScratch>>,
    /// Ticks whenever one may be free.
    changed: watch::Sender<()>,
}

impl PoolShared {
    pub(super) fn new(
        trash: Trash,
        tasks: TaskTracker,
        (checkouts, ticks): (Arc<Semaphore>, Arc<Ticks>),
        setups: Arc<KeptSetups>,
    ) -> Self {
        Self {
            trash,
            tasks,
            checkouts,
            ticks,
            setups,
            repos: Mutex::default(),
            changed: watch::Sender::new(()),
        }
    }

    pub(super) fn repos(&self) -> &Mutex<HashMap<RepoName, RepoScratch>> {
        &self.repos
    }

    /// Ticks whenever one may be free.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(super) fn give_back(&self, repo: &Repo, number: u32, is_there: bool) {
        let idle = is_there.then(|| Idle {
            used: Some(self.ticks.now()),
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
        self.changed.send_replace(());
    }

    /// Does `work` with what is known of a repo's. At its first use, that is what is on disk.
    pub(super) fn with<T>(&self, repo: &Repo, work: impl FnOnce(&mut RepoScratch) -> T) -> T {
        let mut repos = self.repos.lock();
        let known = repos.entry(repo.name().clone()).or_insert_with(|| {
            let idle = on_disk(repo).into_iter().map(|number| {
                let used = DetachedWorktree::scratch(repo.store(), number).used();
                (number, Idle { used, bytes: None })
            });
            RepoScratch::with_idle(idle.collect())
        });
        work(known)
    }

    pub(super) fn trash(&self) -> &Trash {
        &self.trash
    }

    pub(super) fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    pub(super) fn checkouts(&self) -> &Semaphore {
        &self.checkouts
    }

    pub(super) fn setups(&self) -> &KeptSetups {
        &self.setups
    }

    pub(super) fn ticks(&self) -> &Ticks {
        &self.ticks
    }
}
