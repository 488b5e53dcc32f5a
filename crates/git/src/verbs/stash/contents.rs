//! What is in a stash.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Commit, Delta, DiffFormat, Tree};

use crate::status::{SKIP_WORKTREE, overlooked_changes};
use crate::verbs::changes::{between, shown};
use crate::verbs::integration::{Step, Way};
use crate::verbs::{Change, Named, unstaged};
use crate::{Error, ObjectId, Repository, files_of, head};

/// What a stash changes, against the commit that it was made on.
pub fn files(repo: &Repository, stash: ObjectId) -> Result<Vec<Change>, Error> {
    let mut files = Vec::new();
    for (old, new) in parts(repo, stash)? {
        files.extend(between(repo, old.as_ref(), Some(&new))?);
    }
    Ok(files)
}

/// The same as a patch.
pub fn patch(repo: &Repository, stash: ObjectId) -> Result<String, Error> {
    let mut text = String::new();
    for (old, new) in parts(repo, stash)? {
        let diff = repo.diff_trees(old.as_ref(), Some(&new))?;
        diff.print(DiffFormat::Patch, |_, _, line| {
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.push(line.origin());
            }
            text.push_str(&String::from_utf8_lossy(line.content()));
            true
        })?;
    }
    Ok(text)
}

/// Files that the stash would make and that stand there already: git would stop halfway, or overwrite
/// those that an ignore rule covers.
pub fn in_the_way(repo: &Repository, stash: ObjectId) -> Result<Vec<String>, Error> {
    let mut made = BTreeSet::new();
    for (old, new) in parts(repo, stash)? {
        let diff = repo.diff_trees(old.as_ref(), Some(&new))?;
        let added = diff.deltas().filter(|delta| delta.status() == Delta::Added);
        made.extend(added.filter_map(|delta| delta.new_file().path().map(Path::to_owned)));
    }
    let index = repo.fresh_index()?;
    let workdir = files_of(repo).unwrap_or_else(|| "/".into());
    // A file in place of a directory that is to be made is in the way, too.
    let is_taken = |path: &Path| {
        path.ancestors().any(|place| {
            let found = std::fs::symlink_metadata(workdir.join(place));
            let stands = found.is_ok_and(|found| place == path || !found.is_dir());
            stands && index.get_path(place, 0).is_none()
        })
    };
    let taken = made.iter().filter(|path| is_taken(path));
    Ok(taken.map(|path| shown(path)).collect())
}

/// Refuses a stash with untracked files where changes would keep the rest of it out: git brings those
/// files back before it finds that out, and they would be in the way of the next try.
pub fn check_changes(repo: &Repository, stash: ObjectId) -> Result<(), Error> {
    let commit = repo.git2().find_commit(stash.git2())?;
    if untracked_of(&commit)?.is_none() {
        return Ok(());
    }
    let step = Step {
        base: Some(commit.parent_id(0)?),
        ours: head(repo)?.commit.git2(),
        theirs: stash.git2(),
    };
    let changed = unstaged(repo)?.into_iter().map(|change| change.path);
    Way::of(repo, &[step])?.check_changes(changed)
}

/// Files that git was told to take for unchanged, and that are not: a push would put them back and keep
/// nothing of them. Those that it was told to skip it leaves alone.
pub fn overlooked(repo: &Repository, named: &Named) -> Result<Vec<String>, Error> {
    let index = repo.fresh_index()?;
    let workdir = files_of(repo).unwrap_or_else(|| "/".into());
    Ok(overlooked_changes(&index, &workdir)
        .filter(|entry| entry.flags_extended & SKIP_WORKTREE == 0)
        .map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path)))
        .filter(|path| named.covers(path))
        .map(|path| shown(&path))
        .collect())
}

/// What the stash has beside what was there before: of tracked files, and of untracked ones if it holds any.
fn parts(repo: &Repository, stash: ObjectId) -> Result<Vec<(Option<Tree<'_>>, Tree<'_>)>, Error> {
    let commit = repo.git2().find_commit(stash.git2())?;
    let mut parts = vec![(Some(commit.parent(0)?.tree()?), commit.tree()?)];
    parts.extend(untracked_of(&commit)?.map(|tree| (None, tree)));
    Ok(parts)
}

fn untracked_of<'repo>(commit: &Commit<'repo>) -> Result<Option<Tree<'repo>>, Error> {
    match commit.parent_count() {
        3 => Ok(Some(commit.parent(2)?.tree()?)),
        _ => Ok(None),
    }
}
