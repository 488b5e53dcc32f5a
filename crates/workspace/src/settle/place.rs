//! Submodules that make way for what belongs in their place.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::submodules::SubmodulesLook;
use crate::work::{Belongings, Look};
use crate::{Error, Workspace, work};
use branchyard_git::{CommitTree, ObjectId, Repository, Submodule};
use branchyard_runtime::disk::Moment;

/// Why a submodule in which nobody worked may not go all the same.
pub(super) fn somebodys(belongings: &Belongings, submodule: &Path) -> Option<String> {
    let mut found = belongings.files.iter().chain(&belongings.repositories);
    let found = found.find(|found| found.path.starts_with(submodule))?;
    Some(format!("{} is not tracked", found.path.display()))
}

/// The submodules that may simply go for what `goal` has in their place, and those in them.
pub(crate) fn make_way(
    workspace: &Workspace,
    repo: &Repository,
    goal: ObjectId,
) -> Result<Vec<Submodule>, Error> {
    let looked = SubmodulesLook::of(workspace)?;
    if looked.iter().next().is_none() {
        return Ok(Vec::new());
    }
    let tree = CommitTree::of(repo, goal)?;
    let belongings = work::belongings(workspace, repo, Look::Whole)?;
    let is_in_the_way = |path: &Path| tree.takes_place_of(path) && !tree.has_submodule(path);
    let mut gone: Vec<Submodule> = Vec::new();
    for looked in looked.iter() {
        let submodule = looked.submodule();
        let path = submodule.path();
        let mut outer = gone.iter();
        let is_within = outer.any(|outer| path.starts_with(outer.path()));
        let may_go = looked.work().is_none() && somebodys(&belongings, path).is_none();
        if is_within || may_go && is_in_the_way(path) {
            gone.push(submodule.clone());
        }
    }
    Ok(gone)
}

/// Takes them away.
pub(crate) fn discard_in_the_way(
    workspace: &Workspace,
    gone: &[Submodule],
    looked_at: Moment,
) -> Result<(), Error> {
    for submodule in gone.iter().rev() {
        submodule.discard(&workspace.yard().trash, looked_at)?;
        submodule.prune();
    }
    Ok(())
}

/// Takes those away that somebody worked in, with those in them. All of that is saved.
pub(crate) fn discard_with_work(
    workspace: &Workspace,
    belongings: &Belongings,
    looked_at: Moment,
) -> Result<(), Error> {
    let worked = belongings.submodules.iter();
    let worked: HashSet<PathBuf> = worked.map(|worked| worked.path.clone()).collect();
    for submodule in Submodule::all(workspace.worktree())?.into_iter().rev() {
        if worked.contains(submodule.path()) {
            submodule.discard(&workspace.yard().trash, looked_at)?;
        }
    }
    Ok(())
}
