//! Whether files were written since a moment: what a command saw that started then is not what the next one would see.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::{Error, Workspace};
use branchyard_git::{self as git, IgnoreRules, IndexFile, UntrackedKind};

/// Whether a tracked file, or one that git shows, was written, made or renamed since then. What the ignore rules cover is
/// left to builds. In doubt it was.
pub async fn written_since(workspace: &Arc<Workspace>, moment: Timestamp) -> Result<bool, Error> {
    workspace.looking(move |this| look(this, moment)).await
}

/// A workspace with more tracked files is not looked through for [`files_since`].
const MOST_TRACKED: usize = 50_000;

/// Files that were written or made since then, tracked ones and those that git shows: the first of them. Blocks.
pub fn files_since(
    workspace: &Workspace,
    moment: Timestamp,
    most: usize,
) -> Result<Vec<String>, Error> {
    let is_later = later_than(moment);
    let index = IndexFile::read_any(&workspace.worktree().admin().join("index"));
    let index = index.map_err(Error::io("read the index"))?;
    let Some(index) = index.filter(|index| index.entries().len() <= MOST_TRACKED) else {
        return Ok(Vec::new());
    };
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    let tracked = index.entries().iter().filter_map(|entry| {
        let path = Path::new(OsStr::from_bytes(index.path(entry)));
        let looked = workspace.path().join(path).symlink_metadata();
        looked
            .is_ok_and(|meta| is_later(&meta))
            .then(|| shown(path))
    });
    let mut written: Vec<_> = tracked.take(most).collect();
    let repo = workspace.worktree().open()?;
    let rules = IgnoreRules::of(&repo)?;
    let mut untracked = git::untracked_entries(&repo)?;
    while let Some(entry) = untracked.pop().filter(|_| written.len() < most) {
        if rules.is_ignored(&entry.path) {
            continue;
        }
        if entry.kind == UntrackedKind::Directory {
            untracked.extend(git::untracked_in(workspace.path(), &entry.path)?);
        } else if is_later(&entry.meta) {
            written.push(shown(&entry.path));
        }
    }
    written.sort();
    Ok(written)
}

pub(crate) fn later_than(moment: Timestamp) -> impl Fn(&Metadata) -> bool {
    let since = (moment.as_second(), i64::from(moment.subsec_nanosecond()));
    move |meta| (meta.ctime(), meta.ctime_nsec()) > since
}

fn look(workspace: &Workspace, moment: Timestamp) -> Result<bool, Error> {
    let is_later = later_than(moment);
    let index = IndexFile::read_any(&workspace.worktree().admin().join("index"));
    let Some(index) = index.map_err(Error::io("read the index"))? else {
        return Ok(true);
    };
    let mut directories = HashSet::from([PathBuf::new()]);
    for entry in index.entries() {
        let path = Path::new(OsStr::from_bytes(index.path(entry)));
        // Nothing tells when one went that is gone.
        let looked = workspace.path().join(path).symlink_metadata();
        if looked.map_or(true, |meta| is_later(&meta)) {
            return Ok(true);
        }
        if let Some(directory) = path.parent().filter(|dir| !directories.contains(*dir)) {
            directories.insert(directory.to_owned());
        }
    }
    let repo = workspace.worktree().open()?;
    let rules = IgnoreRules::of(&repo)?;
    let mut untracked = git::untracked_entries(&repo)?;
    while let Some(entry) = untracked.pop() {
        if rules.is_ignored(&entry.path) {
            if is_later(&entry.meta) {
                // A build put it there, which is why the directory changed.
                directories.remove(entry.path.parent().unwrap_or(Path::new("")));
            }
            continue;
        }
        if is_later(&entry.meta) {
            return Ok(true);
        }
        if entry.kind == UntrackedKind::Directory {
            untracked.extend(git::untracked_in(workspace.path(), &entry.path)?);
        }
    }
    // Names that came or went.
    for directory in &directories {
        let looked = workspace.path().join(directory).symlink_metadata();
        if looked.map_or(true, |meta| is_later(&meta)) {
            return Ok(true);
        }
    }
    Ok(false)
}
