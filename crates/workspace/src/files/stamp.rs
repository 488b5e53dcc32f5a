//! Whether a file is still what it was, without reading it.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use super::beneath::open_beneath;
use crate::files::beneath;
use crate::{Error, Workspace};
use branchyard_model::ErrorKind;

/// Differs whenever a file was written, replaced or renamed; of a directory, whenever a name in it came
/// or went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Self {
        Self {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// The stamp of a file or directory; `None` where there is none, or no workspace. Makes no workspace,
/// and is no use of one.
pub async fn stamp(workspace: &Arc<Workspace>, path: String) -> Result<Option<Stamp>, Error> {
    let _files = workspace.share_files().await;
    workspace
        .looking(move |this| {
            let path = beneath::relative(this, &path)?;
            if !this.exists() {
                return Ok(None);
            }
            let fd = match open_beneath(&beneath::open_root(this)?, &path) {
                Err(problem) if problem.kind == ErrorKind::NotFound => return Ok(None),
                fd => fd?,
            };
            let meta = File::from(fd).metadata();
            Ok(Some(Stamp::of(&meta.map_err(Error::io("look at a file"))?)))
        })
        .await
}
