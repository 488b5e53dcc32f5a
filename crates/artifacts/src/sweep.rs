//! What of the artifacts goes: sets that have expired, the oldest where all are too much, and then blobs that no set
//! names.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use branchyard_runtime::disk::{if_there, read_json};
use jiff::Timestamp;

use crate::blobs::Blobs;
use crate::set::{ArtifactSet, SetOwner};
use crate::set_files::SetFiles;

/// A blob without a set may be needed by an attempt that is collected again after a crash.
const KEPT_WITHOUT_SET: Duration = Duration::from_secs(60 * 60);

/// What went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    pub sets: usize,
    pub blobs: usize,
    /// Of the blobs.
    pub bytes: u64,
}

/// How many files of sets have a content, and its size.
type Marks = HashMap<String, (usize, u64)>;

pub(crate) fn sweep(
    (blobs, sets): (&Blobs, &SetFiles),
    max_bytes: u64,
    now: Timestamp,
    pinned: &dyn Fn(&SetOwner, &str) -> bool,
) -> io::Result<Swept> {
    let mut swept = Swept::default();
    let mut marks = Marks::new();
    let mut removable: Vec<(Timestamp, PathBuf)> = Vec::new();
    sets.each(|path, set| {
        let is_pinned = pinned(&set.owner, &set.name);
        if !is_pinned && set.expires_at.is_some_and(|at| at <= now) {
            swept.sets += 1;
            return sets.remove(path);
        }
        for file in &set.files {
            marks.entry(file.sha256.clone()).or_insert((0, file.size)).0 += 1;
        }
        if !is_pinned {
            removable.push((set.created_at, path.to_owned()));
        }
        Ok(())
    })?;
    let mut bytes: u64 = marks.values().map(|(_, size)| size).sum();
    removable.sort();
    for (_, path) in removable {
        if bytes <= max_bytes {
            break;
        }
        // Read again: the files of all sets together may be more than fits into the memory.
        let Some(set) = read_json::<ArtifactSet>(&path)? else {
            continue;
        };
        sets.remove(&path)?;
        swept.sets += 1;
        bytes -= unmark(&mut marks, &set);
    }
    blobs.each(|blob| {
        if marks.contains_key(&blob.sha256) || !is_old(blob.collected, now) {
            return Ok(());
        }
        if_there(fs::remove_file(&blob.path))?;
        swept.blobs += 1;
        swept.bytes += blob.size;
        Ok(())
    })?;
    Ok(swept)
}

/// Returns how many bytes no other set has.
fn unmark(marks: &mut Marks, set: &ArtifactSet) -> u64 {
    let mut freed = 0;
    for file in &set.files {
        let Some((count, size)) = marks.get_mut(&file.sha256) else {
            continue;
        };
        *count -= 1;
        if *count == 0 {
            freed += *size;
            marks.remove(&file.sha256);
        }
    }
    freed
}

fn is_old(collected: SystemTime, now: Timestamp) -> bool {
    let now = SystemTime::from(now);
    now.duration_since(collected)
        .is_ok_and(|age| age > KEPT_WITHOUT_SET)
}
