//! The index of files that were just written, in git's format (version 2), with its cache of trees.
//!
//! It is settled: later than every file that it tells of. Git reads the contents of files that are no older than
//! the index, at every look.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Stat, Timespec, Timestamps, UTIME_NOW};
use sha1::{Digest, Sha1};

use super::LeftToGit;
use super::plan::{CheckoutPlan, Directory};

/// How long a tick of the file system's clock is waited for. A coarser clock costs git a second look, no more.
const PATIENCE: Duration = Duration::from_millis(20);
const POLL: Duration = Duration::from_millis(1);

/// What the index says of a file, to tell whether it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    changed: (u32, u32),
    modified: (u32, u32),
    device: u32,
    inode: u32,
    user: u32,
    group: u32,
    size: u32,
}

impl Stamp {
    /// The index has 32 bits for each, and git compares no more than those.
    #[expect(clippy::cast_possible_truncation, reason = "as git does")]
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            changed: (stat.st_ctime as u32, stat.st_ctime_nsec as u32),
            modified: (stat.st_mtime as u32, stat.st_mtime_nsec as u32),
            device: stat.st_dev as u32,
            inode: stat.st_ino as u32,
            user: stat.st_uid,
            group: stat.st_gid,
            size: stat.st_size as u32,
        }
    }
}

/// Writes the index of all entries that have a stamp.
pub(super) fn write(
    admin: &Path,
    plan: &CheckoutPlan,
    stamps: &[Option<Stamp>],
) -> Result<(), LeftToGit> {
    let lock = admin.join("index.lock");
    let file = File::create_new(&lock)?;
    let newest = stamps.iter().flatten().map(|stamp| stamp.modified).max();
    let written = fill(file, &content(plan, stamps), newest)
        .and_then(|()| fs::rename(&lock, admin.join("index")));
    if let Err(error) = written {
        // Git would wait for it.
        fs::remove_file(&lock)?;
        return Err(error.into());
    }
    Ok(())
}

fn fill(mut file: File, content: &[u8], newest: Option<(u32, u32)>) -> std::io::Result<()> {
    file.write_all(content)?;
    let timeouts = Instant::now() + PATIENCE;
    while Some(Stamp::of(&rustix::fs::fstat(&file)?).modified) <= newest
        && Instant::now() < timeouts
    {
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

fn content(plan: &CheckoutPlan, stamps: &[Option<Stamp>]) -> Vec<u8> {
    let listed = stamps.iter().flatten().count();
    let mut out = Vec::with_capacity(plan.entries.len() * 128 + 64);
    out.extend_from_slice(b"DIRC");
    out.extend_from_slice(&2_u32.to_be_bytes());
    out.extend_from_slice(&count(listed).to_be_bytes());
    for (entry, stamp) in plan.entries.iter().zip(stamps) {
        let Some(stamp) = stamp else { continue };
        let start = out.len();
        for number in [
            stamp.changed.0,
            stamp.changed.1,
            stamp.modified.0,
            stamp.modified.1,
            stamp.device,
            stamp.inode,
            entry.kind().mode(),
            stamp.user,
            stamp.group,
            stamp.size,
        ] {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(entry.id().as_bytes());
        out.extend_from_slice(&length_flag(entry.path()).to_be_bytes());
        out.extend_from_slice(entry.path());
        // At least one zero, and a multiple of eight in all.
        let padded = start + (out.len() - start + 1).next_multiple_of(8);
        out.resize(padded, 0);
    }
    // A cache of trees that names entries which are missing would be a lie.
    if listed == plan.entries.len() {
        let mut trees = Vec::new();
        add_tree(&mut trees, plan, &plan.directories[0]);
        out.extend_from_slice(b"TREE");
        out.extend_from_slice(&count(trees.len()).to_be_bytes());
        out.extend_from_slice(&trees);
    }
    let checksum = Sha1::digest(&out);
    out.extend_from_slice(&checksum);
    out
}

/// A directory and those in it, shorter names first, as git has it.
fn add_tree(out: &mut Vec<u8>, plan: &CheckoutPlan, directory: &Directory) {
    let mut within: Vec<&Directory> = directory
        .subdirectories
        .iter()
        .map(|number| &plan.directories[*number])
        .collect();
    within.sort_by_key(|within| (within.name().len(), within.name()));
    out.extend_from_slice(directory.name());
    out.push(0);
    out.extend_from_slice(format!("{} {}\n", directory.total, within.len()).as_bytes());
    out.extend_from_slice(directory.tree.as_bytes());
    for directory in within {
        add_tree(out, plan, directory);
    }
}

/// The length of a path where 12 bits can tell it, and all of them set where they cannot.
fn length_flag(path: &[u8]) -> u16 {
    const MOST: u16 = 0xfff;
    u16::try_from(path.len()).map_or(MOST, |length| length.min(MOST))
}

/// A plan has far fewer entries, and paths, than this could not tell.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
