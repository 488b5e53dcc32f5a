//! How commits stand to each other, and what lies in the place of what they hold.

use std::path::Path;

use git2::{ObjectType, Tree};

use crate::{Error, ObjectId, Repository, is_submodule};

pub fn has_commit(repo: &Repository, id: ObjectId) -> bool {
    repo.git2().find_commit(id.git2()).is_ok()
}

/// Whether `commit` is `tip` or in its history.
pub fn is_ancestor(repo: &Repository, commit: ObjectId, tip: ObjectId) -> Result<bool, Error> {
    let is_below = || repo.git2().graph_descendant_of(tip.git2(), commit.git2());
    Ok(commit == tip || is_below()?)
}

/// Whether `one` has commits that `other` has not.
pub fn is_ahead(repo: &Repository, one: ObjectId, other: ObjectId) -> Result<bool, Error> {
    let (ahead, _) = repo.git2().graph_ahead_behind(one.git2(), other.git2())?;
    Ok(ahead > 0)
}

/// Whether a branch of the remote, as last fetched, has this commit.
pub fn is_published(repo: &Repository, commit: ObjectId) -> Result<bool, Error> {
    let mut walk = repo.git2().revwalk()?;
    walk.push(commit.git2())?;
    walk.hide_glob("refs/remotes/*")?;
    Ok(walk.next().transpose()?.is_none())
}

/// The files of a commit.
pub struct CommitTree<'repo>(Tree<'repo>);

impl<'repo> CommitTree<'repo> {
    pub fn of(repo: &'repo Repository, commit: ObjectId) -> Result<Self, Error> {
        Ok(Self(repo.git2().find_commit(commit.git2())?.tree()?))
    }

    /// Whether what lies at `path` would have to make way for it.
    pub fn takes_place_of(&self, path: &Path) -> bool {
        self.0.get_path(path).is_ok()
            || path.ancestors().skip(1).any(|dir| {
                self.0
                    .get_path(dir)
                    .is_ok_and(|entry| entry.kind() == Some(ObjectType::Blob))
            })
    }

    pub fn has_submodule(&self, path: &Path) -> bool {
        is_submodule(&self.0, path)
    }
}
