//! What is known of a detached worktree that is whole, in a file of its registration: it goes before anything is changed,
//! and is written last. So a worktree without it is half made.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::fixed_file::write_whole;
use crate::plain_file::read_plain;
use branchyard_model::CommitId;
use branchyard_runtime::disk::if_there;

pub(super) const FILE: &str = "branchyard-scratch.json";
const VERSION: u32 = 1;
const MAX_SIZE: u64 = 64 << 10;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Known {
    version: u32,
    /// After a crash of the machine, files may be cut off that have the times of whole ones.
    boot: String,
    pub(super) commit: CommitId,
    /// The index that was written last: another one vouches for nothing.
    index: IndexStamp,
    pub(super) used: u64,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct IndexStamp {
    inode: u64,
    changed: (i64, i64),
    size: i64,
}

impl Known {
    /// `None` where the worktree is half made, or was written before the machine was started.
    pub(super) fn load(admin: &Path) -> Option<Self> {
        let json = read_plain(&admin.join(FILE), MAX_SIZE).ok()??;
        let known: Self = serde_json::from_slice(&json).ok()?;
        let is_sound = known.version == VERSION
            && boot().is_ok_and(|boot| boot == known.boot)
            && stamp(admin).is_ok_and(|stamp| stamp == known.index);
        is_sound.then_some(known)
    }

    pub(super) fn forget(admin: &Path) -> io::Result<()> {
        if_there(fs::remove_file(admin.join(FILE))).map(drop)
    }

    pub(super) fn save(admin: &Path, commit: CommitId, used: u64) -> io::Result<()> {
        let known = Self {
            version: VERSION,
            boot: boot()?,
            commit,
            index: stamp(admin)?,
            used,
        };
        write_whole(&admin.join(FILE), serde_json::to_vec(&known)?)
    }
}

fn boot() -> io::Result<String> {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
}

fn stamp(admin: &Path) -> io::Result<IndexStamp> {
    let stat = rustix::fs::lstat(admin.join("index"))?;
    Ok(IndexStamp {
        inode: stat.st_ino,
        changed: (stat.st_ctime, stat.st_ctime_nsec.cast_signed()),
        size: stat.st_size,
    })
}
