//! An open repository. libgit2's own types stay in this crate: others hold this handle and ask by functions.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use git2::{Diff, DiffFile, FileMode, Index, Oid, Tree};

/// The bits of a mode that say what kind of file it is, those of a file, and the one that git keeps of the others.
pub(crate) const TYPE: u32 = 0o170_000;
pub(crate) const REGULAR: u32 = 0o100_000;
pub(crate) const EXECUTABLE: u32 = 0o100;

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

/// The mode of a file in a difference, as git reads it. A tree that was written by hand may have one such as 100600,
/// at which git2 panics with its number, and keeps it from those who ask.
pub(crate) fn mode_of(file: &DiffFile<'_>) -> FileMode {
    let known = catch_unwind(AssertUnwindSafe(|| file.mode()));
    let mode = known.map_or_else(|panic| number_of(&*panic), u32::from);
    match mode & TYPE {
        0 => FileMode::Unreadable,
        REGULAR if mode & EXECUTABLE != 0 => FileMode::BlobExecutable,
        REGULAR => FileMode::Blob,
        0o120_000 => FileMode::Link,
        0o040_000 => FileMode::Tree,
        _ => FileMode::Commit,
    }
}

fn number_of(panic: &(dyn Any + Send)) -> u32 {
    let said = panic.downcast_ref::<String>().map_or("", String::as_str);
    let number = said.rsplit(' ').next().unwrap_or_default();
    number.parse().unwrap_or(u32::from(FileMode::Blob))
}
