//! The worktrees of the submodules in a scratch worktree.

use std::collections::HashSet;
use std::path::PathBuf;

use crate::Error;
use crate::repos::FoundSubmodules;
use branchyard_git::DetachedWorktree;
use branchyard_model::CommitId;

/// Each after the one that it is in.
#[derive(Debug, Clone)]
pub(super) struct Submodules {
    worktrees: Vec<DetachedWorktree>,
    /// Of each, from the root.
    paths: Vec<PathBuf>,
    /// Of each.
    commits: Vec<CommitId>,
}

impl Submodules {
    pub(super) fn of(outer: &DetachedWorktree, found: &FoundSubmodules) -> Self {
        let all = found.filled.iter();
        Self {
            worktrees: all
                .clone()
                .map(|it| outer.submodule(&it.path, it.store.store()))
                .collect(),
            paths: all.clone().map(|it| it.path.clone()).collect(),
            commits: all.map(|it| it.commit.clone()).collect(),
        }
    }

    pub(super) fn worktrees(&self) -> &[DetachedWorktree] {
        &self.worktrees
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&DetachedWorktree, &CommitId)> {
        self.worktrees.iter().zip(&self.commits)
    }

    /// Paths of submodules that are none of these, in `root` and in these. Blocks.
    pub(super) fn unnamed(&self, root: &DetachedWorktree) -> Result<Vec<PathBuf>, Error> {
        let mut unnamed: Vec<PathBuf> = root.gitlinks()?;
        for (worktree, path) in self.worktrees.iter().zip(&self.paths) {
            let inner = worktree.gitlinks()?.into_iter();
            unnamed.extend(inner.map(|link| path.join(link)));
        }
        let known: HashSet<_> = self.paths.iter().collect();
        unnamed.retain(|path| !known.contains(path));
        Ok(unnamed)
    }
}
