//! An open repository. libgit2's own types stay in this crate: others hold this handle and ask by functions.

use std::fmt;
use std::path::Path;

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
