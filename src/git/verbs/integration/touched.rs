//! Whether somebody worked on what an operation left: then that is saved before it goes.

use git2::{DiffOptions, Oid, Repository, Tree};

use crate::git::Error;
use crate::git::status::overlooked_change;
use crate::git::verbs::conflicts::has_markers;

/// The tree that git itself left in the workspace when it stopped, markers and all. A git that is
/// older, or a strategy that is not `ort`, leaves none. Blocks.
pub fn left_by_git(repo: &Repository) -> Option<Tree<'_>> {
    let id = std::fs::read_to_string(repo.path().join("AUTO_MERGE")).ok()?;
    repo.find_tree(Oid::from_str(id.trim()).ok()?).ok()
}

/// Whether index or tracked files differ from what git left there, or that is not known. Blocks.
pub fn is_touched(repo: &Repository) -> Result<bool, Error> {
    let Some(left) = left_by_git(repo) else {
        return Ok(true);
    };
    let mut options = DiffOptions::new();
    options.include_untracked(false);
    let files = repo.diff_tree_to_workdir(Some(&left), Some(&mut options))?;
    if files.deltas().len() > 0 {
        return Ok(true);
    }
    let index = repo.index()?;
    let staged = repo.diff_tree_to_index(Some(&left), Some(&index), None)?;
    // What is still in conflict is not in the index as it is in the workspace.
    let is_settled =
        |path: Option<&std::path::Path>| path.is_none_or(|path| index.get_path(path, 0).is_some());
    let is_staged = staged
        .deltas()
        .any(|delta| is_settled(delta.new_file().path().or(delta.old_file().path())));
    let is_overlooked = repo
        .workdir()
        .is_some_and(|workdir| overlooked_change(&index, workdir));
    Ok(is_staged || is_overlooked)
}

/// Files that are staged with the conflict markers that git left in them. Blocks.
pub fn staged_with_markers(repo: &Repository) -> Result<Vec<String>, Error> {
    let Some(left) = left_by_git(repo) else {
        return Ok(Vec::new());
    };
    let index = repo.index()?;
    let head = repo.head()?.peel_to_tree()?;
    let is_marked = |id: Oid| {
        let blob = repo.find_blob(id);
        blob.is_ok_and(|blob| !blob.is_binary() && has_markers(blob.content()))
    };
    let mut marked = Vec::new();
    for delta in repo
        .diff_tree_to_tree(Some(&head), Some(&left), None)?
        .deltas()
    {
        let Some(path) = delta.new_file().path() else {
            continue;
        };
        let staged = index.get_path(path, 0);
        if is_marked(delta.new_file().id())
            && !is_marked(delta.old_file().id())
            && staged.is_some_and(|entry| is_marked(entry.id))
        {
            marked.push(path.to_string_lossy().into_owned());
        }
    }
    Ok(marked)
}
