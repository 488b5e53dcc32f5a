//! Which tracked files differ from the index, and the index from HEAD.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{Delta, DiffOptions, ErrorCode, Index, IndexEntry, Oid, Status};

use super::file_comparer::{FileChange, FileComparer};
use super::index_file::{FileStat, Moment};
use super::status::{ASSUME_UNCHANGED, SKIP_WORKTREE};
use super::verbs::ChangeKind;
use super::verbs::conflicts::Working;
use super::{Error, For, MetadataStatus, files_of};
use crate::{ObjectId, Repository};

/// The bits of an entry's flags that say of which side of a conflict it is.
const STAGE: u16 = 0x3000;

/// What the index has of a file: mode, blob and path.
pub(crate) type Tracked = (u32, Oid, PathBuf);

/// Tracked files that may differ from the index; no others do, but those that git was told to overlook.
pub(crate) fn suspects(repo: &Repository) -> Result<Vec<Tracked>, Error> {
    match MetadataStatus::at(repo, For::Suspects)? {
        Some(status) => Ok(suspects_of(&status)),
        None => suspects_of_any(repo),
    }
}

fn suspects_of(status: &MetadataStatus) -> Vec<Tracked> {
    let entries = status.entries_of_suspects();
    entries
        .map(|(mode, id, path)| (mode, id, PathBuf::from(OsStr::from_bytes(path))))
        .collect()
}

/// Of an index that is not plain: with conflicts, or with files that git was told to overlook.
fn suspects_of_any(repo: &Repository) -> Result<Vec<Tracked>, Error> {
    let Some(workdir) = files_of(repo) else {
        return Ok(Vec::new());
    };
    let files = Working::open(&workdir)?;
    let index = repo.fresh_index()?;
    let written = written(&index);
    let is_looked_at = |entry: &IndexEntry| {
        entry.flags & (STAGE | ASSUME_UNCHANGED) == 0 && entry.flags_extended & SKIP_WORKTREE == 0
    };
    let mut suspects = Vec::new();
    for entry in index.iter().filter(is_looked_at) {
        let path = PathBuf::from(OsStr::from_bytes(&entry.path));
        let stat = files.stat(&path).ok().flatten();
        let is_as_noted = stat.is_some_and(|stat| {
            let (noted, found) = (FileStat::noted(&entry), FileStat::of(&stat));
            // An executable bit changes the time of its change, too.
            noted == found && found.modified() < written
        });
        if !is_as_noted {
            suspects.push((entry.mode, entry.id, path));
        }
    }
    Ok(suspects)
}

fn written(index: &Index) -> Moment {
    let stat = index.path().and_then(|path| rustix::fs::stat(path).ok());
    stat.map_or((0, 0), |stat| FileStat::of(&stat).modified())
}

/// How tracked files differ from the index.
pub(crate) fn unstaged_changes(repo: &Repository) -> Result<Vec<(Tracked, FileChange)>, Error> {
    compared(repo, suspects(repo)?)
}

/// Which of these files differ from what is given with them, and how.
pub(crate) fn compared(
    repo: &Repository,
    tracked: Vec<Tracked>,
) -> Result<Vec<(Tracked, FileChange)>, Error> {
    if tracked.is_empty() {
        return Ok(Vec::new());
    }
    let Some(comparer) = FileComparer::new(repo)? else {
        return Ok(Vec::new());
    };
    let mut changed = Vec::new();
    for (mode, id, path) in tracked {
        if let Some(change) = comparer.change(mode, id, &path)? {
            changed.push(((mode, id, path), change));
        }
    }
    Ok(changed)
}

/// Whether one of these files differs from what is given with it.
pub fn is_any_changed<'a>(
    repo: &Repository,
    tracked: impl Iterator<Item = (u32, ObjectId, &'a Path)>,
) -> Result<bool, Error> {
    let mut tracked = tracked.peekable();
    if tracked.peek().is_none() {
        return Ok(false);
    }
    let Some(comparer) = FileComparer::new(repo)? else {
        return Ok(false);
    };
    for (mode, id, path) in tracked {
        if comparer.change(mode, id.git2(), path)?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The tracked files that differ from HEAD or from the index, but for those that git was told to overlook.
pub fn changed_files(repo: &Repository) -> Result<Vec<PathBuf>, Error> {
    Ok(tracked_statuses(repo)?.into_keys().collect())
}

/// The same, with how they differ.
pub(crate) fn tracked_statuses(repo: &Repository) -> Result<BTreeMap<PathBuf, Status>, Error> {
    let status = MetadataStatus::at(repo, For::Suspects)?;
    let head = match repo.head_tree() {
        Ok(tree) => Some(tree),
        Err(error) if error.code() == ErrorCode::UnbornBranch => None,
        Err(error) => return Err(error.into()),
    };
    let mut found: BTreeMap<PathBuf, Status> = BTreeMap::new();
    let is_staged = |status: &MetadataStatus| {
        head.as_ref()
            .is_some_and(|tree| status.has_staged(ObjectId::of(tree.id())))
    };
    if !status.as_ref().is_some_and(is_staged) {
        let index = repo.fresh_index()?;
        let mut options = DiffOptions::new();
        options.include_typechange(true);
        let repo = repo.git2();
        let diff = repo.diff_tree_to_index(head.as_ref(), Some(&index), Some(&mut options))?;
        for delta in diff.deltas() {
            let file = delta.new_file();
            let path = file.path_bytes().unwrap_or_default();
            let status = match delta.status() {
                Delta::Added => Status::INDEX_NEW,
                Delta::Deleted => Status::INDEX_DELETED,
                Delta::Typechange => Status::INDEX_TYPECHANGE,
                Delta::Conflicted => Status::CONFLICTED,
                _ => Status::INDEX_MODIFIED,
            };
            *found.entry(path_of(path)).or_insert(Status::CURRENT) |= status;
        }
    }
    let suspects = match &status {
        Some(status) => suspects_of(status),
        None => suspects_of_any(repo)?,
    };
    for ((_, _, path), change) in compared(repo, suspects)? {
        let status = match change.kind {
            ChangeKind::Deleted => Status::WT_DELETED,
            ChangeKind::TypeChanged => Status::WT_TYPECHANGE,
            _ => Status::WT_MODIFIED,
        };
        *found.entry(path).or_insert(Status::CURRENT) |= status;
    }
    Ok(found)
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
