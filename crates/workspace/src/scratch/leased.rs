//! A scratch worktree that is not in the pool.

use std::sync::Arc;

use super::shared::PoolShared;
use crate::repos::Repo;
use branchyard_git::DetachedWorktree;

/// Shared with work on its files, which comes to its end even if the caller goes.
#[derive(Debug)]
pub(super) struct LeasedWorktree {
    pool: Arc<PoolShared>,
    repo: Arc<Repo>,
    number: u32,
    worktree: DetachedWorktree,
    /// Held while its files are moved.
    moving: tokio::sync::Mutex<()>,
}

impl LeasedWorktree {
    pub(super) fn new(pool: Arc<PoolShared>, repo: Arc<Repo>, number: u32) -> Self {
        Self {
            worktree: DetachedWorktree::scratch(repo.store(), number),
            number,
            pool,
            repo,
            moving: tokio::sync::Mutex::default(),
        }
    }

    pub(super) fn pool(&self) -> &PoolShared {
        &self.pool
    }

    pub(super) fn repo(&self) -> &Arc<Repo> {
        &self.repo
    }

    pub(super) fn number(&self) -> u32 {
        self.number
    }

    pub(super) fn worktree(&self) -> &DetachedWorktree {
        &self.worktree
    }

    pub(super) fn moving(&self) -> &tokio::sync::Mutex<()> {
        &self.moving
    }
}

impl Drop for LeasedWorktree {
    fn drop(&mut self) {
        let (number, is_there) = (self.number, self.worktree.is_there());
        self.pool.give_back(&self.repo, number, is_there);
    }
}
