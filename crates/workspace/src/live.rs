//! The workspaces that are in use. The map holds only those: an entry goes with its last user, so it cannot grow
//! beyond what is in use.

use std::sync::{Arc, Weak};

use dashmap::DashMap;

use branchyard_model::{BranchName, RepoName};

#[derive(Debug)]
pub(crate) struct Live<W>(DashMap<(RepoName, BranchName), Weak<W>>);

impl<W> Live<W> {
    pub(crate) fn new() -> Self {
        Self(DashMap::new())
    }

    /// The workspace that somebody holds, or else a new one.
    pub(crate) fn get(
        &self,
        repo: &RepoName,
        branch: &BranchName,
        new: impl FnOnce() -> W,
    ) -> Arc<W> {
        let mut entry = self.0.entry((repo.clone(), branch.clone())).or_default();
        if let Some(workspace) = entry.upgrade() {
            return workspace;
        }
        let workspace = Arc::new(new());
        *entry = Arc::downgrade(&workspace);
        workspace
    }

    pub(crate) fn held(&self, repo: &RepoName, branch: &BranchName) -> Option<Arc<W>> {
        self.0.get(&(repo.clone(), branch.clone()))?.upgrade()
    }

    /// Whether somebody holds a workspace of this repo.
    pub(crate) fn has_any_of(&self, repo: &RepoName) -> bool {
        self.0.iter().any(|entry| entry.key().0 == *repo)
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// For a workspace that goes. A successor may already stand in the map; only a dead entry goes.
    pub(crate) fn forget(&self, repo: &RepoName, branch: &BranchName) {
        let key = (repo.clone(), branch.clone());
        self.0.remove_if(&key, |_, weak| weak.strong_count() == 0);
    }
}
