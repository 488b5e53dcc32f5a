//! The reserve: room that the daemon holds for itself while there is enough, and lets go, a share at a
//! time, when the disk is full and the end of a run is to be recorded. In shares, because whatever
//! filled the disk may be at it still and take what one write did not need.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::if_there;
use super::room::{Amount, Room};

const SHARES: u64 = 8;
/// Of one share: its directory, its file of so many bytes, and empty files.
const SHARE: Amount = Amount {
    bytes: 1 << 20,
    inodes: 16,
};
/// A share is never more than this part of the disk.
const PART: u64 = 128;
/// The file of a share that takes up its bytes.
const BULK: &str = "bulk";

#[derive(Debug)]
pub(super) struct Reserve {
    dir: PathBuf,
    share: Amount,
    /// How many shares are there. Locked while one is let go or made.
    held: Mutex<u64>,
}

impl Reserve {
    /// The reserve in `dir`, as an earlier daemon left it.
    pub(super) fn at(dir: PathBuf) -> Self {
        let share = Room::of(&dir).map_or(SHARE, |room| room.part(SHARE, PART));
        let reserve = Self {
            dir,
            share,
            held: Mutex::default(),
        };
        *reserve.held.lock() = reserve.count();
        reserve
    }

    /// Gives a share of the room back to the disk; false where none is left.
    pub(super) fn let_go(&self) -> io::Result<bool> {
        let mut held = self.held.lock();
        let share = self.shares().rev().find(|share| share.exists());
        let gone = share.as_deref().map(fs::remove_dir_all).transpose();
        *held = self.count();
        Ok(gone?.is_some())
    }

    pub(super) fn is_whole(&self) -> bool {
        *self.held.lock() == SHARES
    }

    /// How much of the reserve is not there.
    pub(super) fn missing(&self) -> Amount {
        let missing = SHARES - *self.held.lock();
        Amount {
            bytes: missing * self.share.bytes,
            inodes: missing * self.share.inodes,
        }
    }

    /// Makes what is missing. The caller has seen that there is room for it.
    pub(super) fn make(&self) -> io::Result<()> {
        let mut held = self.held.lock();
        let made = self.shares().try_for_each(|share| {
            if is_whole(&share, self.share) {
                return Ok(());
            }
            remove(&share)?;
            // Half a share is none: what it took is better left to others.
            fill(&share, self.share).inspect_err(|_| {
                if let Err(error) = remove(&share) {
                    tracing::warn!(%error, "half a share of the reserve stays");
                }
            })
        });
        *held = self.count();
        made
    }

    fn count(&self) -> u64 {
        let whole = self.shares().filter(|share| is_whole(share, self.share));
        whole.count() as u64
    }

    fn shares(&self) -> impl DoubleEndedIterator<Item = PathBuf> {
        (0..SHARES).map(|number| self.dir.join(number.to_string()))
    }
}

/// Whether a share takes up what it should; one that a killed daemon was about to make does not.
fn is_whole(share: &Path, amount: Amount) -> bool {
    let bulk = fs::metadata(share.join(BULK)).map_or(0, |meta| meta.blocks() * 512);
    let files = fs::read_dir(share).map_or(0, |entries| entries.count() as u64);
    bulk >= amount.bytes && files + 1 >= amount.inodes
}

fn fill(share: &Path, amount: Amount) -> io::Result<()> {
    fs::create_dir_all(share)?;
    let bulk = File::create_new(share.join(BULK))?;
    if amount.bytes > 0 {
        match fallocate(&bulk, FallocateFlags::empty(), 0, amount.bytes) {
            // Not every file system can.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => write_out(&bulk, amount.bytes)?,
            done => done?,
        }
    }
    // The directory and the file count as well.
    for n in 2..amount.inodes {
        File::create_new(share.join(n.to_string()))?;
    }
    Ok(())
}

/// Writes so much that no file system can make less of it.
fn write_out(mut file: &File, bytes: u64) -> io::Result<()> {
    let mut block = vec![0; 64 << 10];
    let mut left = bytes;
    while left > 0 {
        rustix::rand::getrandom(&mut block[..], rustix::rand::GetRandomFlags::empty())?;
        let now = left.min(block.len() as u64);
        file.write_all(&block[..usize::try_from(now).unwrap_or(block.len())])?;
        left -= now;
    }
    file.sync_all()
}

fn remove(share: &Path) -> io::Result<()> {
    if_there(fs::remove_dir_all(share)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes and inodes that a directory takes up.
    fn taken(dir: &Path) -> Amount {
        let mut taken = Amount::default();
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            taken.inodes += 1;
            if entry.path().is_dir() {
                let inside = self::taken(&entry.path());
                taken.bytes += inside.bytes;
                taken.inodes += inside.inodes;
            } else {
                taken.bytes += entry.metadata().unwrap().blocks() * 512;
            }
        }
        taken
    }

    #[test]
    fn it_takes_what_it_should_gives_it_back_share_by_share_and_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("reserve");
        let reserve = Reserve::at(home.clone());
        let share = reserve.share;
        assert!(!reserve.is_whole());
        assert_eq!(reserve.missing().bytes, SHARES * share.bytes);
        reserve.make().unwrap();
        assert!(reserve.is_whole());
        let whole = taken(&home);
        assert!(whole.bytes >= SHARES * share.bytes, "{whole:?}");
        assert!(whole.inodes >= SHARES * share.inodes, "{whole:?}");

        assert!(reserve.let_go().unwrap());
        assert!(!reserve.is_whole());
        assert!(taken(&home).bytes <= whole.bytes - share.bytes);
        // As if the daemon had been killed while it made this one.
        fs::create_dir(home.join((SHARES - 1).to_string())).unwrap();
        let next = Reserve::at(home.clone());
        assert_eq!(next.missing(), share, "the next daemon sees what is there");
        next.make().unwrap();
        assert_eq!(taken(&home), whole);

        for _ in 0..SHARES {
            assert!(next.let_go().unwrap());
        }
        assert!(!next.let_go().unwrap(), "none is left");
        assert_eq!(taken(&home), Amount::default());
    }
}
