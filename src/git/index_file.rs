//! Git's index as it is in its file: what it remembers of each file, without a copy of anything. Versions 2 and
//! 3, which git writes unless it is told otherwise; for all else there is libgit2, which takes longer.

const SIGNATURE: &[u8] = b"DIRC";
const HEADER: usize = 12;
/// What every entry begins with: times, place, mode, owner, size, id, flags.
const FIXED: usize = 62;
const ID: usize = 20;
/// Bits of an entry's flags.
const ASSUME_UNCHANGED: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const NAME_LENGTH: u16 = 0x0fff;
/// Of the flags that some entries have besides.
const SKIP_WORKTREE: u16 = 0x4000;

pub(super) struct IndexFile<'a> {
    pub(super) entries: Vec<Entry<'a>>,
    /// The tree that all of it stands for, where git noted that.
    pub(super) tree: Option<&'a [u8]>,
}

pub(super) struct Entry<'a> {
    fixed: &'a [u8; FIXED],
    more_flags: u16,
    pub(super) path: &'a [u8],
}

/// Where in an entry its numbers are.
#[derive(Debug, Clone, Copy)]
#[repr(usize)]
pub(super) enum Field {
    ChangedSeconds = 0,
    ChangedNanos = 4,
    ModifiedSeconds = 8,
    ModifiedNanos = 12,
    Inode = 20,
    Mode = 24,
    User = 28,
    Group = 32,
    Size = 36,
}

impl<'a> IndexFile<'a> {
    /// `None` where it is not laid out as expected, or parts of it are elsewhere or left out.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (version, count) = (word(bytes, 4)?, usize::try_from(word(bytes, 8)?).ok()?);
        if !bytes.starts_with(SIGNATURE) || !matches!(version, 2 | 3) {
            return None;
        }
        // What follows is its own hash, which those who read contents look at.
        let bytes = bytes.get(..bytes.len().checked_sub(ID)?)?;
        let mut entries = Vec::with_capacity(count.min(bytes.len() / FIXED));
        let mut rest = bytes.get(HEADER..)?;
        for _ in 0..count {
            let (entry, length) = Entry::read(rest)?;
            rest = rest.get(length..)?;
            entries.push(entry);
        }
        let mut tree = None;
        while !rest.is_empty() {
            let (name, length) = (rest.get(..4)?, usize::try_from(word(rest, 4)?).ok()?);
            let content = rest.get(8..)?.get(..length)?;
            match name {
                b"TREE" => tree = root(content),
                // Those that begin with a small letter change what the index means.
                [b'a'..=b'z', ..] => return None,
                _ => {}
            }
            rest = rest.get(8..)?.get(length..)?;
        }
        Some(Self { entries, tree })
    }
}

/// The root of the trees that git noted: no name, the number of entries (-1 if it is out of date) and of subtrees, an id.
fn root(trees: &[u8]) -> Option<&[u8]> {
    let rest = trees.strip_prefix(b"\0")?;
    let line = memchr::memchr(b'\n', rest)?;
    let (numbers, rest) = rest.split_at(line);
    if numbers.starts_with(b"-") {
        return None;
    }
    rest.get(1..1 + ID)
}

impl<'a> Entry<'a> {
    /// The first entry, and how long it is.
    fn read(bytes: &'a [u8]) -> Option<(Self, usize)> {
        let fixed = bytes.first_chunk::<FIXED>()?;
        let flags = half(bytes, FIXED - 2)?;
        let (more_flags, name_at) = match flags & EXTENDED {
            0 => (0, FIXED),
            _ => (half(bytes, FIXED)?, FIXED + 2),
        };
        let name = bytes.get(name_at..)?;
        let length = match flags & NAME_LENGTH {
            // Too long to be told there.
            NAME_LENGTH => memchr::memchr(0, name)?,
            length => usize::from(length),
        };
        let path = name.get(..length)?;
        let entry = Self {
            fixed,
            more_flags,
            path,
        };
        // A name ends with at least one zero, and the whole with a multiple of eight bytes.
        Some((entry, (name_at + length + 8) & !7))
    }

    fn flags(&self) -> u16 {
        u16::from_be_bytes([self.fixed[FIXED - 2], self.fixed[FIXED - 1]])
    }

    /// Git is told to overlook the file.
    pub(super) fn is_flagged(&self) -> bool {
        self.flags() & ASSUME_UNCHANGED != 0 || self.more_flags & SKIP_WORKTREE != 0
    }

    /// A file of one side only, with nothing else said about it.
    pub(super) fn is_plain(&self) -> bool {
        self.flags() & (ASSUME_UNCHANGED | EXTENDED | STAGE) == 0
    }

    pub(super) fn get(&self, field: Field) -> u32 {
        word(self.fixed, field as usize).unwrap_or_default()
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..)?
        .first_chunk()
        .copied()
        .map(u16::from_be_bytes)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .copied()
        .map(u32::from_be_bytes)
}
