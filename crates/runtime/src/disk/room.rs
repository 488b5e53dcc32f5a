//! How much room a file system has, and how little is too little. A disk can run out of two things:
//! bytes, and, where the file system counts them, inodes.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// New work needs this much room, so that what is under way can go on and its ends be recorded.
const NEEDED: Amount = Amount {
    bytes: 16 << 20,
    inodes: 128,
};
/// Of a small disk it is this part: one that is mostly free must be of use.
const PART: u64 = 16;
/// With less than this the daemon's own next write may fail.
const BARELY: Amount = Amount {
    bytes: 256 << 10,
    inodes: 8,
};

/// So many bytes and so many inodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Amount {
    pub bytes: u64,
    pub inodes: u64,
}

/// The room of one file system at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    dir: PathBuf,
    free: Amount,
    total: Amount,
}

/// Too little room, in words for whoever is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortage {
    dir: PathBuf,
    what: What,
    left: u64,
    total: u64,
    needed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Bytes,
    Inodes,
}

impl Room {
    /// The room where `dir` is, or where it is going to be.
    pub fn of(dir: &Path) -> io::Result<Self> {
        let there = dir.ancestors().find(|dir| dir.exists()).unwrap_or(dir);
        let stat = rustix::fs::statvfs(there)?;
        Ok(Self {
            dir: dir.to_owned(),
            free: Amount {
                bytes: stat.f_bavail * stat.f_frsize,
                inodes: stat.f_favail,
            },
            total: Amount {
                bytes: stat.f_blocks * stat.f_frsize,
                inodes: stat.f_files,
            },
        })
    }

    /// Bytes that may still be written without the privileges of root.
    pub fn free(&self) -> u64 {
        self.free.bytes
    }

    /// All of its bytes.
    pub fn total(&self) -> u64 {
        self.total.bytes
    }

    /// What there is too little of where `dir` is; nothing where that cannot be told.
    pub fn shortage_at(dir: &Path) -> Option<Shortage> {
        Self::of(dir).ok()?.shortage()
    }

    /// What there is too little of for new work.
    pub fn shortage(&self) -> Option<Shortage> {
        self.shortage_beside(Amount::default())
    }

    /// As [`Room::shortage`], where `spoken_for` of what is free is not there for new work.
    pub(super) fn shortage_beside(&self, spoken_for: Amount) -> Option<Shortage> {
        let part = self.part(NEEDED, PART);
        self.less_than(Amount {
            bytes: part.bytes + spoken_for.bytes,
            inodes: part.inodes + spoken_for.inodes,
        })
    }

    /// Whether the daemon's own next write may fail.
    pub(super) fn is_exhausted(&self) -> bool {
        self.less_than(BARELY).is_some()
    }

    /// What there is less of than `needed`.
    pub fn less_than(&self, needed: Amount) -> Option<Shortage> {
        let short = |what, left, total, needed| Shortage {
            dir: self.dir.clone(),
            what,
            left,
            total,
            needed,
        };
        let (free, total) = (self.free, self.total);
        if free.bytes < needed.bytes {
            return Some(short(What::Bytes, free.bytes, total.bytes, needed.bytes));
        }
        // A file system that makes inodes as it needs them says that it has none at all.
        (total.inodes > 0 && free.inodes < needed.inodes)
            .then(|| short(What::Inodes, free.inodes, total.inodes, needed.inodes))
    }

    /// `most`, but never more than one `part`th of the file system.
    pub(super) fn part(&self, most: Amount, part: u64) -> Amount {
        Amount {
            bytes: most.bytes.min(self.total.bytes / part),
            inodes: match self.total.inodes {
                0 => 0,
                total => most.inodes.min(total / part),
            },
        }
    }
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dir = self.dir.display();
        let (left, total, needed) = (self.left, self.total, self.needed);
        match self.what {
            What::Bytes => write!(
                f,
                "the disk that holds {dir} is full: {} of {} are left, and {} are needed",
                Size(left),
                Size(total),
                Size(needed)
            ),
            What::Inodes => write!(
                f,
                "the disk that holds {dir} takes no more files: {left} of {total} inodes are left, \
                 and {needed} are needed"
            ),
        }
    }
}

/// A size for people, to a tenth.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, factor) = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
            .into_iter()
            .find(|(_, factor)| self.0 >= *factor)
            .unwrap_or(("bytes", 1_u64));
        let tenths = u128::from(self.0) * 10 / u128::from(factor);
        match tenths % 10 {
            0 => write!(f, "{} {unit}", tenths / 10),
            tenth => write!(f, "{}.{tenth} {unit}", tenths / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;

    fn room(free: (u64, u64), total: (u64, u64)) -> Room {
        let amount = |(bytes, inodes)| Amount { bytes, inodes };
        Room {
            dir: "/yard".into(),
            free: amount(free),
            total: amount(total),
        }
    }

    fn told(room: &Room) -> Option<String> {
        room.shortage().map(|shortage| shortage.to_string())
    }

    #[test]
    fn a_shortage_says_of_what_there_is_how_much() {
        let large = (100 * GIB, 1_000_000);
        assert_eq!(told(&room((16 * MIB, 128), large)), None);
        assert_eq!(
            told(&room((3 * MIB / 2, 500), large)).unwrap(),
            "the disk that holds /yard is full: 1.5 MiB of 100 GiB are left, and 16 MiB are needed"
        );
        assert_eq!(
            told(&room((GIB, 127), large)).unwrap(),
            "the disk that holds /yard takes no more files: 127 of 1000000 inodes are left, and \
             128 are needed"
        );
    }

    #[test]
    fn a_small_disk_is_of_use_and_one_without_a_count_of_inodes_too() {
        let small = (64 * MIB, 1600);
        assert_eq!(told(&room((4 * MIB, 100), small)), None);
        assert!(told(&room((4 * MIB - 1, 100), small)).is_some());
        assert!(told(&room((4 * MIB, 99), small)).is_some());
        assert_eq!(told(&room((GIB, 0), (GIB, 0))), None);
    }

    #[test]
    fn the_room_of_what_is_not_there_yet_is_that_of_where_it_will_be() {
        let dir = tempfile::tempdir().unwrap();
        let (here, later) = (
            Room::of(dir.path()).unwrap(),
            Room::of(&dir.path().join("not/yet")).unwrap(),
        );
        assert_eq!(here.total, later.total);
        assert!(here.total.bytes > 0);
    }
}
