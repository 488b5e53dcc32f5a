//! What a move of a worktree to another commit touches, and what of a move that was cut off is its own.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Delta, Diff, DiffFile, DiffOptions, FileMode, Index, Oid};

use super::file_comparer::hash_at;
use super::repository::mode_of;
use super::status::{ASSUME_UNCHANGED, SKIP_WORKTREE, overlooked_change};
use super::{Error, GITLINK, files_of, head, tracked_statuses, unstaged_changes};
use crate::{ObjectId, Repository};

/// The tracked files that a reset to `target` changes: those that [differ](differing) from it, and those that git was told
/// to overlook, which a reset does not.
pub fn changed_by_reset(repo: &Repository, target: ObjectId) -> Result<BTreeSet<PathBuf>, Error> {
    let mut changed = differing(repo, target)?;
    let index = repo.git2().index()?;
    let flagged = index.iter().filter(|entry| {
        let is_overlooked = entry.flags & ASSUME_UNCHANGED != 0;
        let is_outside = entry.flags_extended & SKIP_WORKTREE != 0;
        entry.mode != GITLINK && (is_overlooked || is_outside)
    });
    changed.extend(flagged.map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path))));
    Ok(changed)
}

/// The tracked files that the index has otherwise than `target`, and those that are not as the index has them.
pub fn differing(repo: &Repository, target: ObjectId) -> Result<BTreeSet<PathBuf>, Error> {
    let mut changed = changed_by_move(repo, target)?;
    let unstaged = unstaged_changes(repo)?.into_iter();
    let unstaged = unstaged.filter(|((mode, ..), _)| *mode != GITLINK);
    changed.extend(unstaged.map(|((_, _, path), _)| path));
    Ok(changed)
}

/// The tracked files that the index has otherwise than `target`.
pub fn changed_by_move(repo: &Repository, target: ObjectId) -> Result<BTreeSet<PathBuf>, Error> {
    let index = repo.fresh_index()?;
    let diff = diff_to_index(repo, target.git2(), &index)?;
    let mut changed = BTreeSet::new();
    for delta in diff.deltas() {
        let sides = [delta.old_file(), delta.new_file()];
        // Git leaves a submodule's directory as it is.
        let is_submodule = |file: &DiffFile<'_>| mode_of(file) == FileMode::Commit;
        if !sides.iter().any(is_submodule) {
            let path = sides.iter().find_map(DiffFile::path_bytes);
            changed.insert(PathBuf::from(OsStr::from_bytes(path.unwrap_or_default())));
        }
    }
    Ok(changed)
}

/// From `target`, the old side, to the index.
pub(super) fn diff_to_index<'r>(
    repo: &'r Repository,
    target: Oid,
    index: &Index,
) -> Result<Diff<'r>, Error> {
    let tree = repo.git2().find_commit(target)?.tree()?;
    let mut options = DiffOptions::new();
    options.include_typechange(true);
    let repo = repo.git2();
    Ok(repo.diff_tree_to_index(Some(&tree), Some(index), Some(&mut options))?)
}

/// Whether index and tracked files are as HEAD or as `target` has them, or a file is absent in between,
/// and nothing untracked is in their way: then nothing that a move to `target` touches is anybody's work. The directories of
/// `submodules` follow, and do not count.
pub fn is_between(
    repo: &Repository,
    target: ObjectId,
    submodules: &HashSet<PathBuf>,
) -> Result<bool, Error> {
    let Some(workdir) = files_of(repo) else {
        return Ok(false);
    };
    let from = repo.git2().find_tree(head(repo)?.tree.git2())?;
    let to = repo.tree_of(target.git2())?;
    let index = repo.git2().index()?;
    // A checkout replaces the index whole.
    let is_index_of = |tree| Ok::<_, Error>(repo.diff_to_index(tree, &index)?.deltas().len() == 0);
    if !is_index_of(&from)? && !is_index_of(&to)? || overlooked_change(&index, &workdir) {
        return Ok(false);
    }
    let mut moved: BTreeMap<PathBuf, Vec<Oid>> = BTreeMap::new();
    for delta in repo.diff_trees(Some(&from), Some(&to))?.deltas() {
        let (old, new) = (delta.old_file(), delta.new_file());
        let Some(path) = new.path_bytes().or(old.path_bytes()) else {
            return Ok(false);
        };
        if submodules.contains(Path::new(OsStr::from_bytes(path))) {
            continue;
        }
        let sides = moved.entry(OsStr::from_bytes(path).into()).or_default();
        if delta.status() != Delta::Added {
            sides.push(old.id());
        }
        if delta.status() != Delta::Deleted {
            sides.push(new.id());
        }
    }
    if !tracked_statuses(repo)?
        .keys()
        .all(|path| moved.contains_key(path) || submodules.contains(path))
    {
        return Ok(false);
    }
    let is_free = |path: &Path| {
        path.ancestors()
            .skip(1)
            .filter(|dir| *dir != Path::new("") && !moved.contains_key(*dir))
            .all(|dir| fs::symlink_metadata(workdir.join(dir)).map_or(true, |meta| meta.is_dir()))
    };
    Ok(moved
        .iter()
        .all(|(path, sides)| is_free(path) && is_one_of(&workdir.join(path), sides)))
}

fn is_one_of(file: &Path, sides: &[Oid]) -> bool {
    let Ok(meta) = fs::symlink_metadata(file) else {
        return true;
    };
    hash_at(file, &meta).is_some_and(|id| sides.contains(&id))
}
