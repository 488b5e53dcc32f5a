//! A scratch worktree that is kept after its job, to be looked into.

use std::path::Path;
use std::sync::Arc;

use super::leased::LeasedWorktree;
use crate::repos::Repo;
use branchyard_model::CommitId;

/// It is given back to the pool when this is dropped.
#[derive(Debug)]
#[must_use = "the worktree is given back when this is dropped"]
pub struct HeldScratch(Arc<LeasedWorktree>);

impl HeldScratch {
    pub(super) fn of(leased: Arc<LeasedWorktree>) -> Self {
        Self(leased)
    }

    pub fn number(&self) -> u32 {
        self.0.number()
    }

    /// Where its files are.
    pub fn path(&self) -> &Path {
        self.0.worktree().path()
    }

    /// The commit that it was moved to for the job.
    pub fn commit(&self) -> Option<CommitId> {
        self.0.worktree().commit()
    }

    pub fn repo(&self) -> &Arc<Repo> {
        self.0.repo()
    }
}
