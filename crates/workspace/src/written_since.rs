//! Whether files were written since a moment: what a command saw that started then is not what the next one would see.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
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
    for entry in index.entries() {
        let path = Path::new(OsStr::from_bytes(index.path(entry)));
        // Nothing tells when one went that is gone.
        let looked = workspace.path().join(path).symlink_metadata();
        if looked.map_or(true, |meta| is_later(&meta)) {
            return Ok(true);
        }
    }
    let repo = workspace.worktree().open()?;
    let rules = IgnoreRules::of(&repo)?;
    let mut untracked = git::untracked_entries(&repo)?;
    while let Some(entry) = untracked.pop() {
        if rules.is_ignored(&entry.path) {
            continue;
        }
        if is_later(&entry.meta) {
            return Ok(true);
        }
        if entry.kind == UntrackedKind::Directory {
            untracked.extend(git::untracked_in(workspace.path(), &entry.path)?);
        }
    }
    Ok(false)
}
