//! The index of files that were just written. It is settled, which means later than every file that it tells of: git
//! reads the contents of files that are no older than the index, at every look.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use git2::Oid;
use rustix::fs::{Timespec, Timestamps, UTIME_NOW};

use super::{FIXED, FileStat, HEADER, Moment, STATS, write_hashed};

/// The longest path whose length an entry tells.
const LONGEST: u16 = 0xfff;
/// How long a tick of the file system's clock is waited for. A coarser clock costs git a second look, no more.
const PATIENCE: Duration = Duration::from_millis(20);
const POLL: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(crate) struct NewIndex {
    bytes: Vec<u8>,
    entries: u32,
    newest: Moment,
}

impl NewIndex {
    pub(crate) fn new() -> Self {
        Self {
            // Version 2, of no entries yet.
            bytes: b"DIRC\0\0\0\x02\0\0\0\0".to_vec(),
            entries: 0,
            newest: Moment::default(),
        }
    }

    /// Paths come in the order of their bytes.
    pub(crate) fn push(&mut self, path: &[u8], mode: u32, id: Oid, stat: &FileStat) {
        let start = self.bytes.len();
        let out = &mut self.bytes;
        out.resize(start + STATS, 0);
        stat.write(&mut out[start..]);
        out[start + 24..start + 28].copy_from_slice(&mode.to_be_bytes());
        out.extend_from_slice(id.as_bytes());
        let length = u16::try_from(path.len()).map_or(LONGEST, |length| length.min(LONGEST));
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(path);
        // At least one zero, and a multiple of eight in all.
        out.resize(start + (FIXED + path.len() + 1).next_multiple_of(8), 0);
        self.entries += 1;
        self.newest = self.newest.max(stat.modified);
    }

    /// Writes it to `path`, where there is none. `trees` are those that all entries together are, where that is known.
    pub(crate) fn write(mut self, path: &Path, trees: Option<&CachedTree>) -> io::Result<()> {
        self.bytes[8..HEADER].copy_from_slice(&self.entries.to_be_bytes());
        if let Some(trees) = trees {
            let size = u32::try_from(trees.0.len()).map_err(io::Error::other)?;
            self.bytes.extend_from_slice(b"TREE");
            self.bytes.extend_from_slice(&size.to_be_bytes());
            self.bytes.extend_from_slice(&trees.0);
        }
        // As git does it: another may be about to write it, too.
        let lock = path.with_extension("lock");
        drop(File::create_new(&lock)?);
        let written = write_hashed(&lock, self.bytes)
            .and_then(|()| settle(&lock, self.newest))
            .and_then(|()| fs::rename(&lock, path));
        if let Err(error) = &written
            && let Err(stays) = fs::remove_file(&lock)
        {
            tracing::warn!(lock = %lock.display(), %error, %stays, "git waits for a lock");
        }
        written
    }
}

/// What the index has of a directory whose entries are those of a tree.
#[derive(Debug)]
pub(crate) struct CachedTree(Vec<u8>);

impl CachedTree {
    /// Of the directory called `name`, the root's being empty, with so many entries at any depth, and of those in it.
    pub(crate) fn new(
        name: &[u8],
        tree: Oid,
        entries: usize,
        mut within: Vec<(Vec<u8>, Self)>,
    ) -> Self {
        // Shorter names first, as git has it.
        within.sort_by(|(one, _), (other, _)| (one.len(), one).cmp(&(other.len(), other)));
        let mut out = name.to_vec();
        out.extend_from_slice(format!("\0{entries} {}\n", within.len()).as_bytes());
        out.extend_from_slice(tree.as_bytes());
        for (_, tree) in within {
            out.extend_from_slice(&tree.0);
        }
        Self(out)
    }
}

/// Has an index be later than every file that it tells of, the newest of which was written then.
pub(crate) fn settle(index: &Path, newest: Moment) -> io::Result<()> {
    let file = File::open(index)?;
    let deadline = Instant::now() + PATIENCE;
    while FileStat::of(&rustix::fs::fstat(&file)?).modified <= newest && Instant::now() < deadline {
        thread::sleep(POLL);
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        };
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        rustix::fs::futimens(&file, &times)?;
    }
    Ok(())
}
