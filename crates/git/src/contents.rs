//! What a worktree has in it: its files written for the first time, moved to another commit, and reset to one.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::Oid;

use super::checkout::write_files;
use super::moves::diff_to_index;
use super::refs::{move_ref, set_head};
use super::repository::mode_of;
use super::scan::untimed_entry;
use super::status::{ASSUME_UNCHANGED, SKIP_WORKTREE, head_if_born};
use super::verbs::conflicts::Working;
use super::{Error, Git, Worktree, read_ref, traps};
use crate::{ObjectId, Repository};
use branchyard_model::CommitId;

/// What git keeps about an operation under way, a merge or a rebase or the like.
const OPERATION: [&str; 18] = [
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "MERGE_AUTOSTASH",
    "AUTO_MERGE",
    "SQUASH_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "BISECT_LOG",
    "BISECT_START",
    "BISECT_TERMS",
    "BISECT_NAMES",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "refs/bisect",
];

/// Where HEAD and the branch were when it was decided what to do with them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tips {
    pub head: Option<ObjectId>,
    pub branch: Option<ObjectId>,
}

/// What became of a move.
#[derive(Debug)]
pub enum Moved {
    /// With what git complained of, if anything.
    Done(Option<String>),
    /// A commit was made after the caller had looked: it is not saved, so nothing was moved.
    TipMoved,
}

/// Ends a merge, rebase or the like without touching a file. What it knew is lost.
pub fn forget_operation(worktree: &Worktree) -> Result<(), Error> {
    for name in OPERATION {
        let path = worktree.admin().join(name);
        let gone = match fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_dir() => fs::remove_dir_all(&path),
            Ok(_) => fs::remove_file(&path),
            Err(_) => Ok(()),
        };
        gone.map_err(Error::io("end an operation under way"))?;
    }
    Ok(())
}

/// Where HEAD and the branch are.
pub fn tips(worktree: &Worktree) -> Result<Tips, Error> {
    tips_in(worktree, &worktree.open()?)
}

fn tips_in(worktree: &Worktree, repo: &Repository) -> Result<Tips, Error> {
    Ok(Tips {
        head: head_if_born(repo)?.map(|head| head.commit),
        branch: read_ref(repo, &worktree.branch().local_ref())?,
    })
}

/// Moves to `commit`, whatever was under way, and has git see all files again that it was told to overlook.
pub async fn reset_to(
    worktree: &Worktree,
    git: &Git,
    commit: &CommitId,
    seen: Tips,
) -> Result<Moved, Error> {
    forget_operation(worktree)?;
    clear_flags(&worktree.open()?)?;
    move_to(worktree, git, commit, seen).await
}

/// Moves HEAD, branch and index to `commit`, and writes those of its files that are not there. What is to change the
/// caller has taken away by then: a file that is there was written since, and stays. The branch stays, too, if it is
/// not as it was `seen` any more.
pub async fn move_to(
    worktree: &Worktree,
    git: &Git,
    commit: &CommitId,
    seen: Tips,
) -> Result<Moved, Error> {
    let branch = worktree.branch().local_ref();
    let target = Oid::from_str(commit.as_str())?;
    let this = worktree.clone();
    let begin = move || begin_move(&this, target, seen);
    let Some((repo, is_staged)) = tokio::task::spawn_blocking(begin).await?? else {
        return Ok(Moved::TipMoved);
    };
    if !is_staged {
        read_index(worktree.path(), git, commit.as_str()).await?;
    }
    let log = format!("reset: moving to {commit}");
    let known = seen.branch.map(ObjectId::git2);
    if !move_ref(&repo, &branch, target, known, &log)? {
        return Ok(Moved::TipMoved);
    }
    drop(repo);
    let complaint = match write_missing(worktree.path(), git).await? {
        Written::All(words) => words,
        Written::NotAll => "files that were written meanwhile stay as they are".to_owned(),
    };
    Ok(Moved::Done(
        Some(complaint).filter(|complaint| !complaint.is_empty()),
    ))
}

/// Puts HEAD on the branch, and has the index be that of `commit`; or not, which leaves that to git. `None` if the
/// branch is not as it was `seen` any more.
fn begin_move(
    worktree: &Worktree,
    commit: Oid,
    seen: Tips,
) -> Result<Option<(Repository, bool)>, Error> {
    let repo = worktree.open()?;
    clear_traps(worktree, &repo)?;
    if tips_in(worktree, &repo)? != seen {
        return Ok(None);
    }
    let on_branch = format!("ref: {}\n", worktree.branch().local_ref());
    set_head(worktree.admin(), &on_branch)?;
    let staged = stage(worktree, &repo, commit);
    if let Err(why) = &staged {
        tracing::debug!(path = %worktree.path().display(), %why, "left to git");
    }
    Ok(Some((repo, staged.is_ok())))
}

/// Makes the index that of `commit` where it differs, which saves the start of a git. An error where git has to do it.
fn stage(worktree: &Worktree, repo: &Repository, commit: Oid) -> Result<(), Error> {
    // What is to be left out of the worktree, git alone knows.
    if worktree.admin().join("info/sparse-checkout").exists() {
        return Err(Error::io("stage files")(io::ErrorKind::Unsupported.into()));
    }
    let mut index = repo.git2().index()?;
    index.read(true)?;
    let diff = diff_to_index(repo, commit, &index)?;
    let mut entries = Vec::new();
    for delta in diff.deltas() {
        for side in [delta.old_file(), delta.new_file()] {
            let path = Path::new(OsStr::from_bytes(side.path_bytes().unwrap_or_default()));
            for stage in 0..=3 {
                // Most are not there.
                let _ = index.remove(path, stage);
            }
        }
        let wanted = delta.old_file();
        if wanted.exists() {
            let path = wanted.path_bytes().unwrap_or_default();
            entries.push(untimed_entry(mode_of(&wanted).into(), wanted.id(), path));
        }
    }
    // After all of what goes: a file may be where a directory was.
    for entry in &entries {
        index.add(entry)?;
    }
    Ok(index.write()?)
}

/// Makes the index that of `tree`; what it knew of files that stay the same it still knows.
async fn read_index(files: &Path, git: &Git, tree: &str) -> Result<(), Error> {
    git.in_worktree(files)
        .args(["read-tree", "--reset", tree])
        .run()
        .await
}

/// What became of the files that were missing.
pub(crate) enum Written {
    /// With what git said of them, if anything.
    All(String),
    /// Something else stands in the place of some, and stays.
    NotAll,
}

/// Writes the files of the index that are not there.
async fn write_missing(files: &Path, git: &Git) -> Result<Written, Error> {
    let written = git
        .in_worktree(files)
        .args(["-c", &workers(git)])
        .args(["checkout-index", "--all", "--index", "--quiet"])
        .output_and_words()
        .await;
    match written {
        Ok((_, words)) => Ok(Written::All(words)),
        // Of files that are there already it is quiet, and says no all the same.
        Err(Error::Refused {
            code: Some(1),
            stderr,
            ..
        }) if stderr.is_empty() => Ok(Written::NotAll),
        Err(error) => Err(error),
    }
}

/// Removes what would keep git waiting. There is nothing in it to save.
fn clear_traps(worktree: &Worktree, repo: &Repository) -> Result<(), Error> {
    let files = Working::open(worktree.path())?;
    for trap in traps(repo)? {
        files.remove(&trap)?;
    }
    Ok(())
}

/// Writes all files of HEAD into a worktree that is being prepared, and marks it whole.
pub async fn fill(worktree: &Worktree, git: &Git) -> Result<(), Error> {
    let this = worktree.clone();
    let written = tokio::task::spawn_blocking(move || write_files(&this)).await?;
    if let Err(why) = &written {
        tracing::debug!(path = %worktree.path().display(), %why, "left to git");
    }
    if !matches!(written, Ok(true)) {
        fill_missing(worktree, git).await?;
    }
    worktree.mark_whole()
}

/// Writes the files of HEAD that are not there as the index has them. `read-tree -u` would do both in one process, but
/// it looks for what is in the way before it writes, and then writes over it.
pub async fn fill_missing(worktree: &Worktree, git: &Git) -> Result<(), Error> {
    // What a person wrote who was faster stays, and shows as a change.
    write_missing_of_head(worktree.path(), git).await.map(drop)
}

/// The same in the worktree whose files are in this directory.
pub(crate) async fn write_missing_of_head(files: &Path, git: &Git) -> Result<Written, Error> {
    read_index(files, git, "HEAD").await?;
    write_missing(files, git).await
}

/// Has a worktree that is being prepared, whose index and files are those of `from`, have those of `to`:
/// only what differs is touched. An error if git found anything in the way.
pub async fn advance(
    worktree: &Worktree,
    git: &Git,
    from: &CommitId,
    to: &CommitId,
) -> Result<(), Error> {
    let (_, words) = git
        .in_worktree(worktree.path())
        .args(["-c", &workers(git)])
        .args(["read-tree", "-m", "-u", from.as_str(), to.as_str()])
        .output_and_words()
        .await?;
    match words.is_empty() {
        true => Ok(()),
        false => Err(Error::io("check out what differs")(io::Error::other(words))),
    }
}

/// The setting by which git writes files side by side.
fn workers(git: &Git) -> String {
    format!("checkout.workers={}", git.settings().checkout_workers)
}

/// Has git look at all tracked files again, also at those that it was told to overlook.
fn clear_flags(repo: &Repository) -> Result<(), Error> {
    let mut index = repo.fresh_index()?;
    let flagged: Vec<_> = index
        .iter()
        .filter(|entry| {
            entry.flags & ASSUME_UNCHANGED != 0 || entry.flags_extended & SKIP_WORKTREE != 0
        })
        .collect();
    if flagged.is_empty() {
        return Ok(());
    }
    for mut entry in flagged {
        entry.flags &= !ASSUME_UNCHANGED;
        entry.flags_extended &= !SKIP_WORKTREE;
        index.add(&entry)?;
    }
    Ok(index.write()?)
}

#[cfg(test)]
pub(crate) mod tests;
