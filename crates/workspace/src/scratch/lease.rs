//! The right to one scratch worktree. It ends when the last use of it does.

use std::path::Path;
use std::sync::Arc;

use super::held::HeldScratch;
use super::leased::LeasedWorktree;
use crate::Error;
use crate::repos::Repo;
use branchyard_git::{self as git, UntrackedFiles};
use branchyard_model::{CommitId, Warning};

/// A scratch worktree for one job. It is given back to the pool when this is dropped.
#[derive(Debug)]
#[must_use = "the worktree is given back when this is dropped"]
pub struct ScratchLease(Arc<LeasedWorktree>);

impl ScratchLease {
    pub(super) fn of(leased: Arc<LeasedWorktree>) -> Self {
        Self(leased)
    }

    pub(super) fn leased(&self) -> &Arc<LeasedWorktree> {
        &self.0
    }

    pub fn number(&self) -> u32 {
        self.0.number()
    }

    /// Where its files are.
    pub fn path(&self) -> &Path {
        self.0.worktree().path()
    }

    /// Where git's own files of it are.
    pub fn git_dir(&self) -> &Path {
        self.0.worktree().admin()
    }

    pub fn repo(&self) -> &Arc<Repo> {
        self.0.repo()
    }

    /// Has the worktree exist and be exactly at `commit`, whose objects are in the store. Files that git does not track go,
    /// ignored ones too, unless it `keeps_output`. Returns what to know of submodules.
    pub async fn prepare(
        &self,
        commit: &CommitId,
        keeps_output: bool,
    ) -> Result<Vec<Warning>, Error> {
        let (leased, commit) = (self.0.clone(), commit.clone());
        let untracked = match keeps_output {
            true => UntrackedFiles::Keep,
            false => UntrackedFiles::Discard,
        };
        let prepare = async move { leased.prepare(&commit, untracked).await };
        let done = self.0.pool().tasks().spawn(prepare).await;
        done.map_err(git::Error::from)?
    }

    /// Keeps the worktree beside the pool: it does not count any more, and is given back when the other is dropped.
    pub fn hold(self) -> HeldScratch {
        self.0.pool().hold(self.0.repo(), self.number());
        HeldScratch::of(self.0)
    }
}
