//! That a salvage can be restored is proved before anything is discarded: what its commits name must be there. What the
//! remote is known to have can be fetched again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::{Commit, Oid};

use crate::{Difference, Error, Repository, is_submodule};
use branchyard_model::{ErrorKind, Problem};

/// Refuses if an object is gone that `named` lead to, commits that the remote has aside.
pub(super) fn prove(repo: &Repository, named: &[Oid]) -> Result<(), Error> {
    let mut walk = repo.git2().revwalk()?;
    for id in named {
        // What is no commit is looked at where it is saved.
        if repo.git2().find_commit(*id).is_ok() {
            walk.push(*id)?;
        }
    }
    walk.hide_glob("refs/remotes/origin/*")?;
    for commit in walk {
        let commit = repo.git2().find_commit(commit?)?;
        if let Some(gone) = missing_in(repo, &commit)? {
            return Err(unrestorable(&commit, gone).into());
        }
    }
    Ok(())
}

/// The first object that is gone of what `commit` adds to its parent.
fn missing_in(repo: &Repository, commit: &Commit<'_>) -> Result<Option<Oid>, Error> {
    let Ok(tree) = commit.tree() else {
        return Ok(Some(commit.tree_id()));
    };
    let parent = commit.parent(0).and_then(|parent| parent.tree());
    let parent = match parent {
        Ok(parent) => parent,
        Err(_) => repo
            .git2()
            .find_tree(repo.git2().treebuilder(None)?.write()?)?,
    };
    // One that cannot be compared lacks a tree within.
    let Ok(Some(difference)) = Difference::between(repo, &parent, &tree, usize::MAX) else {
        return Ok(Some(tree.id()));
    };
    let odb = repo.git2().odb()?;
    let added = difference.changes.iter();
    let mut added = added.filter_map(|change| Some((change.is?, change)));
    // The commit of a submodule is in another repository.
    let is_elsewhere = |path: &[u8]| is_submodule(&tree, Path::new(OsStr::from_bytes(path)));
    let gone = added.find(|(id, change)| !odb.exists(id.git2()) && !is_elsewhere(&change.path));
    Ok(gone.map(|(id, _)| id.git2()))
}

fn unrestorable(commit: &Commit<'_>, gone: Oid) -> Problem {
    let detail = format!(
        "the commit {} cannot be saved: its object {gone} is gone, and the remote is not known to have it",
        commit.id()
    );
    Problem::new(ErrorKind::Conflict, "salvage_damaged", detail)
        .help("nothing was changed; put the object back (`git unpack-objects`, `git fetch` from where it came), or copy what you need and move the workspace's directory away")
}
