//! Whether somebody worked on what an operation left: then that is saved before it goes.

use std::collections::BTreeSet;

use git2::{Diff, Oid, Tree};

use crate::status::overlooked_change;
use crate::verbs::conflicts::has_markers;
use crate::{Error, Repository, files_of, is_any_changed, suspects};
use branchyard_runtime::disk::Moment;

/// The tree that git itself left in the workspace when it stopped, markers and all. A git that is
/// older, or a strategy that is not `ort`, leaves none. Blocks.
pub(crate) fn left_by_git(repo: &Repository) -> Option<Tree<'_>> {
    let id = std::fs::read_to_string(repo.path().join("AUTO_MERGE")).ok()?;
    repo.git2().find_tree(Oid::from_str(id.trim()).ok()?).ok()
}

/// Whether index or tracked files differ from what git left there, or that is not known. Blocks.
pub fn is_touched(repo: &Repository) -> Result<bool, Error> {
    let Some(left) = left_by_git(repo) else {
        return Ok(true);
    };
    let index = repo.git2().index()?;
    let staged = repo.diff_to_index(&left, &index)?;
    if are_files_touched(repo, &left, &staged)? {
        return Ok(true);
    }
    // What is still in conflict is not in the index as it is in the workspace.
    let is_settled =
        |path: Option<&std::path::Path>| path.is_none_or(|path| index.get_path(path, 0).is_some());
    let is_staged = staged
        .deltas()
        .any(|delta| is_settled(delta.new_file().path().or(delta.old_file().path())));
    let is_overlooked = files_of(repo).is_some_and(|workdir| overlooked_change(&index, &workdir));
    Ok(is_staged || is_overlooked)
}

/// For an abort before which nothing is saved: now, where files and index are as git left them, else the moment before
/// anything was written, so that all of it is kept.
pub fn untouched_until(repo: &Repository) -> Result<Moment, Error> {
    let now = Moment::now();
    Ok(match is_touched(repo)? {
        true => Moment::EPOCH,
        false => now,
    })
}

/// Whether a file differs from what `left` has at its path. Where the index has the same, metadata mostly tells.
fn are_files_touched(repo: &Repository, left: &Tree<'_>, staged: &Diff<'_>) -> Result<bool, Error> {
    let mut expected = Vec::new();
    let mut elsewhere = BTreeSet::new();
    for delta in staged.deltas() {
        let (old, new) = (delta.old_file(), delta.new_file());
        let Some(path) = old.path().or(new.path()) else {
            continue;
        };
        if let Ok(entry) = left.get_path(path) {
            let mode = u32::try_from(entry.filemode()).unwrap_or_default();
            expected.push((mode, entry.id(), path.to_owned()));
        }
        elsewhere.insert(path.to_owned());
    }
    let suspects = suspects(repo)?.into_iter();
    expected.extend(suspects.filter(|(_, _, path)| !elsewhere.contains(path)));
    let expected = expected.iter();
    is_any_changed(
        repo,
        expected.map(|(mode, id, path)| (*mode, crate::ObjectId::of(*id), path.as_path())),
    )
}

/// Files that are staged with the conflict markers that git left in them. Blocks.
pub fn staged_with_markers(repo: &Repository) -> Result<Vec<String>, Error> {
    let Some(left) = left_by_git(repo) else {
        return Ok(Vec::new());
    };
    let index = repo.git2().index()?;
    let head = repo.head_tree()?;
    let is_marked = |id: Oid| {
        let blob = repo.git2().find_blob(id);
        blob.is_ok_and(|blob| !blob.is_binary() && has_markers(blob.content()))
    };
    let mut marked = Vec::new();
    for delta in repo.diff_trees(Some(&head), Some(&left))?.deltas() {
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
