//! Whether a file is still what it was, without reading it.

use std::fmt;
use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::beneath::open_beneath;
use crate::files::beneath;
use crate::{Error, Workspace};
use branchyard_model::ErrorKind;

/// More than the clock of any common file system needs to tick, which is a hundred times a second at least.
const TICK: Duration = Duration::from_millis(20);

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
    pub(super) fn of(meta: &Metadata) -> Self {
        Self {
            inode: meta.ino(),
            size: meta.size(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// Whether the file was written so recently that the next write may leave the same stamp: the clock of a
    /// file system ticks.
    pub fn is_fresh(&self) -> bool {
        let (seconds, nanoseconds) = self.changed;
        let since_epoch = Duration::new(
            u64::try_from(seconds).unwrap_or(0),
            u32::try_from(nanoseconds).unwrap_or(0),
        );
        let age = SystemTime::now().duration_since(UNIX_EPOCH + since_epoch);
        age.is_ok_and(|age| age < TICK)
    }
}

/// An opaque word of one line.
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            inode,
            size,
            modified,
            changed,
        } = self;
        write!(f, "{inode:x}-{size:x}-{:x}.{:x}", modified.0, modified.1)?;
        write!(f, "-{:x}.{:x}", changed.0, changed.1)
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
