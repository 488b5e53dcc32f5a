//! Which workspaces are in use, and which there are. The map holds only those that somebody holds:
//! an entry goes with its last user, so it cannot grow beyond what is in use.

use std::fs;
use std::future::Future;
use std::sync::{Arc, Weak};

use dashmap::DashMap;
use tokio::sync::{OwnedRwLockReadGuard, RwLock, Semaphore};
use tokio_util::task::TaskTracker;

use super::record::Record;
use super::{Error, Turn};
use crate::git::Worktree;
use crate::model::{BranchName, DirName, RepoName};
use crate::repos::Repo;

type Key = (RepoName, BranchName);
type Live = DashMap<Key, Weak<Workspace>>;

#[derive(Debug)]
pub struct Workspaces {
    live: Arc<Live>,
    /// Checkouts are bound by the disk and the cores, not by how many were asked for.
    checkouts: Arc<Semaphore>,
    pub(super) tasks: TaskTracker,
}

#[derive(Debug)]
pub struct Workspace {
    pub repo: Arc<Repo>,
    pub branch: BranchName,
    pub turn: Turn,
    pub(super) floor: Arc<RwLock<()>>,
    pub(super) worktree: Worktree,
    pub(super) checkouts: Arc<Semaphore>,
    pub(super) tasks: TaskTracker,
    live: Arc<Live>,
}

impl Workspaces {
    pub fn new(max_checkouts: usize, tasks: TaskTracker) -> Self {
        Self {
            live: Arc::default(),
            checkouts: Arc::new(Semaphore::new(max_checkouts)),
            tasks,
        }
    }

    /// The workspace of this branch, whether it exists on disk yet or not.
    pub fn get(&self, repo: &Arc<Repo>, branch: &BranchName) -> Arc<Workspace> {
        let mut entry = self
            .live
            .entry((repo.name.clone(), branch.clone()))
            .or_default();
        if let Some(workspace) = entry.upgrade() {
            return workspace;
        }
        let path = repo.home().join(branch.dir().as_str());
        let workspace = Arc::new(Workspace {
            worktree: Worktree::new(repo.store(), path, branch.clone()),
            repo: repo.clone(),
            branch: branch.clone(),
            turn: Turn::default(),
            floor: Arc::default(),
            checkouts: self.checkouts.clone(),
            tasks: self.tasks.clone(),
            live: self.live.clone(),
        });
        *entry = Arc::downgrade(&workspace);
        workspace
    }

    /// The branches of `repo` that have a workspace on disk, sorted.
    pub fn on_disk(&self, repo: &Repo) -> Vec<BranchName> {
        let Ok(entries) = fs::read_dir(repo.store().path().join("worktrees")) else {
            return Vec::new();
        };
        let mut branches: Vec<_> = entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let dir = DirName::parse(entry.file_name().to_str()?)?;
                let record = Record::load(&entry.path())?;
                (record.branch.dir() == dir).then_some(record.branch)
            })
            .collect();
        branches.sort();
        branches
    }

    /// How many workspaces somebody holds right now.
    pub fn in_use(&self) -> usize {
        self.live.len()
    }
}

impl Workspace {
    pub fn path(&self) -> &std::path::Path {
        self.worktree.path()
    }

    /// Whether it is on disk, whole.
    pub fn exists(&self) -> bool {
        self.worktree.is_ready()
    }

    /// Shared access to the files: nothing of ours moves them while it is held.
    pub async fn stand(&self) -> OwnedRwLockReadGuard<()> {
        self.floor.clone().read_owned().await
    }

    /// Runs work that must not stop halfway to its end, whatever becomes of the caller. The locks that
    /// it needs are taken inside, so that they are held for as long as it takes.
    pub(super) async fn uninterrupted<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.tasks
            .spawn(work)
            .await
            .map_err(|error| Error::Git(error.into()))?
    }

    /// Runs blocking work on this workspace. If the caller is dropped it goes on without the caller's
    /// locks: whatever changes something belongs inside [`Workspace::uninterrupted`].
    pub(super) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let workspace = self.clone();
        tokio::task::spawn_blocking(move || work(&workspace))
            .await
            .map_err(|error| Error::Git(error.into()))?
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // A successor may already stand in the map; only our own, dead entry goes.
        let key = (self.repo.name.clone(), self.branch.clone());
        self.live
            .remove_if(&key, |_, weak| weak.strong_count() == 0);
    }
}
