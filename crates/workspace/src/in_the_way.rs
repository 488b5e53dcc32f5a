//! What is not tracked, and lies where a commit has something else.

use std::path::PathBuf;

use super::work::Belongings;
use super::{Error, Workspace};
use branchyard_git::{
    self as git, CommitTree, ObjectId, Repository, Submodule, UntrackedEntry, UntrackedKind,
};

/// Build output that git shows, and in whose place `goal` has something else.
pub(super) fn output_in_the_way(
    workspace: &Workspace,
    repo: &Repository,
    goal: ObjectId,
    belongings: &Belongings,
) -> Result<Vec<PathBuf>, Error> {
    let output = belongings.output.iter().filter(|output| !output.ignored);
    let output = output.map(|output| output.item.clone()).collect();
    among(workspace, output, &CommitTree::of(repo, goal)?)
}

/// The same of all that is there, but for submodules that are `gone` by then. Where a submodule belongs, git leaves whatever
/// repository there is alone.
pub(super) fn in_the_way_of_a_move(
    workspace: &Workspace,
    repo: &Repository,
    goal: ObjectId,
    gone: &[Submodule],
) -> Result<Vec<PathBuf>, Error> {
    let tree = CommitTree::of(repo, goal)?;
    let mut found = among(workspace, git::untracked_entries(repo)?, &tree)?;
    let is_gone = |path: &PathBuf| gone.iter().any(|gone| gone.path() == path);
    found.retain(|path| !tree.has_submodule(path) && !is_gone(path));
    Ok(found)
}

/// The files in `untracked` in whose place the tree has something else.
fn among(
    workspace: &Workspace,
    mut untracked: Vec<UntrackedEntry>,
    tree: &CommitTree<'_>,
) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    while let Some(item) = untracked.pop() {
        if !tree.takes_place_of(&item.path) {
            continue;
        }
        match item.kind {
            UntrackedKind::Directory => {
                untracked.extend(git::untracked_in(workspace.path(), &item.path)?);
            }
            UntrackedKind::File | UntrackedKind::Repository => found.push(item.path),
        }
    }
    Ok(found)
}

/// What people have there, and in whose place `goal` has something else.
pub(super) fn in_the_way(
    repo: &Repository,
    goal: ObjectId,
    belongings: &Belongings,
) -> Result<Vec<PathBuf>, Error> {
    let tree = CommitTree::of(repo, goal)?;
    let found = belongings.files.iter().chain(&belongings.repositories);
    Ok(found
        .map(|found| &found.path)
        .filter(|path| tree.takes_place_of(path))
        .cloned()
        .collect())
}

/// The same as git itself sees it: where a submodule belongs, it leaves whatever repository there is alone.
pub(super) fn in_gits_way(
    repo: &Repository,
    goal: ObjectId,
    belongings: &Belongings,
) -> Result<Vec<PathBuf>, Error> {
    let tree = CommitTree::of(repo, goal)?;
    let mut found = in_the_way(repo, goal, belongings)?;
    found.retain(|path| !tree.has_submodule(path));
    Ok(found)
}
