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

fn look(workspace: &Workspace, moment: Timestamp) -> Result<bool, Error> {
    let since = (moment.as_second(), i64::from(moment.subsec_nanosecond()));
    let is_later = |meta: &Metadata| (meta.ctime(), meta.ctime_nsec()) > since;
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
