//! An open repository. libgit2's own types stay in this crate: others hold this handle and ask by functions.

use std::fmt;
use std::path::Path;

use git2::{Diff, Index, Oid, Tree};

/// A store, or what git keeps of one worktree.
pub struct Repository(git2::Repository);

impl Repository {
    pub(crate) fn open(path: &Path) -> Result<Self, git2::Error> {
        git2::Repository::open(path).map(Self)
    }

    pub(crate) fn open_bare(path: &Path) -> Result<Self, git2::Error> {
        git2::Repository::open_bare(path).map(Self)
    }

    #[cfg(test)]
    pub(crate) fn init(path: &Path) -> Result<Self, git2::Error> {
        git2::Repository::init(path).map(Self)
    }

    #[cfg(test)]
    pub(crate) fn init_bare(path: &Path) -> Result<Self, git2::Error> {
        git2::Repository::init_bare(path).map(Self)
    }

    pub(crate) fn git2(&self) -> &git2::Repository {
        &self.0
    }

    /// The index as it is on the disk: another git may have written it since this repository was opened.
    pub(crate) fn fresh_index(&self) -> Result<Index, git2::Error> {
        let mut index = self.0.index()?;
        index.read(false)?;
        Ok(index)
    }

    pub(crate) fn head_tree(&self) -> Result<Tree<'_>, git2::Error> {
        self.0.head()?.peel_to_tree()
    }

    pub(crate) fn tree_of(&self, commit: Oid) -> Result<Tree<'_>, git2::Error> {
        self.0.find_commit(commit)?.tree()
    }

    /// How two trees differ; one that is not there has no files.
    pub(crate) fn diff_trees(
        &self,
        old: Option<&Tree<'_>>,
        new: Option<&Tree<'_>>,
    ) -> Result<Diff<'_>, git2::Error> {
        self.0.diff_tree_to_tree(old, new, None)
    }

    /// What `index` has otherwise than `tree`.
    pub(crate) fn diff_to_index(
        &self,
        tree: &Tree<'_>,
        index: &Index,
    ) -> Result<Diff<'_>, git2::Error> {
        self.0.diff_tree_to_index(Some(tree), Some(index), None)
    }

    /// Where git's own files of it are.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl fmt::Debug for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Repository").field(&self.path()).finish()
    }
}
