//! Writing the files of a new workspace ourselves: several threads read blobs and write files side by side, and
//! the index is written once, with what the file system says of each file. Git does the same with one thread, or
//! with processes that cost as much as they save.
//!
//! Git has the last word. What it would convert on the way to the disk is left to it file by file; where anything
//! at all is unusual (a name, a mode, a setting), or goes wrong, it does the whole, and tells what is wrong in
//! the way that callers know.

mod attributes;
mod configuration;
mod index;
mod names;
mod plan;
mod register;
#[cfg(test)]
mod tests;
mod write;

use std::fs;
use std::path::Path;

use super::Worktree;
pub(super) use attributes::{FILE_NAME as ATTRIBUTES, may_apply};
use plan::CheckoutPlan;
pub(super) use register::register;

/// How much of a workspace stands there now.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Filled {
    Whole,
    /// Some files are missing, and not in the index either: git writes them.
    InPart,
}

/// Why git has to do it all.
#[derive(Debug, thiserror::Error)]
pub(super) enum LeftToGit {
    #[error("{0}")]
    Unusual(String),
    #[error(transparent)]
    Unreadable(#[from] git2::Error),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl From<rustix::io::Errno> for LeftToGit {
    fn from(errno: rustix::io::Errno) -> Self {
        Self::Io(errno.into())
    }
}

impl LeftToGit {
    fn unusual<T>(what: impl Into<String>) -> Result<T, Self> {
        Err(Self::Unusual(what.into()))
    }
}

/// Writes the files of HEAD and the index into a worktree that has neither, with up to `threads` threads. After
/// an error there may be files, but no index.
pub(super) fn write_files(worktree: &Worktree, threads: usize) -> Result<Filled, LeftToGit> {
    let repo = crate::Repository::open_bare(worktree.admin())?;
    configuration::check(&repo)?;
    check_untouched(worktree)?;
    let tree = repo.git2().head()?.peel_to_tree()?;
    let mut plan = CheckoutPlan::of(&repo, &tree, worktree.path())?;
    attributes::leave_what_is_converted(&repo, &mut plan)?;
    let stamps = write::files(&plan, worktree.path(), repo.git2().commondir(), threads)?;
    index::write(worktree.admin(), &plan, &stamps)?;
    Ok(match stamps.iter().all(Option::is_some) {
        true => Filled::Whole,
        false => Filled::InPart,
    })
}

/// With anything there already, only git knows what is to become of it.
fn check_untouched(worktree: &Worktree) -> Result<(), LeftToGit> {
    for entry in fs::read_dir(worktree.path())? {
        if entry?.file_name() != ".git" {
            return LeftToGit::unusual("the directory is not empty");
        }
    }
    match is_there(&worktree.admin().join("index"))? {
        true => LeftToGit::unusual("there is an index"),
        false => Ok(()),
    }
}

fn is_there(path: &Path) -> std::io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
