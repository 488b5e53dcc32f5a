//! Marks in a journal, so that a byte or a line of the output is found without reading what stands
//! before it.
//!
//! The file `index` beside a journal has a 16-byte header (`BYINDEX`, the version byte, the journal's
//! salt) and an entry for about every 256 KiB, little-endian: the offset of an output frame, the bytes
//! and the newlines of output before it, and a CRC-32 over salt and these. It is an aid only: where it
//! is missing, torn, stale or of another journal, more of the journal is read, and nothing else differs.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Cursor;
use super::format::Salt;

const MAGIC: &[u8; 8] = b"BYINDEX\x01";
const ENTRY_LEN: usize = 28;
/// At least this much of the journal lies between two marks.
const SPACING: u64 = 256 * 1024;

/// A place between two frames, and how much output stands before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) frame: u64,
    pub(super) bytes: u64,
    pub(super) newlines: u64,
}

impl Mark {
    pub(super) const START: Self = Self {
        frame: Cursor::START.frame,
        bytes: 0,
        newlines: 0,
    };

    /// The same with the output of one more frame counted.
    pub(super) fn past(self, payload: &[u8]) -> Self {
        Self {
            bytes: self.bytes + payload.len() as u64,
            newlines: self.newlines + newlines(payload),
            ..self
        }
    }

    fn encode(self, salt: Salt) -> [u8; ENTRY_LEN] {
        let mut entry = [0; ENTRY_LEN];
        entry[..8].copy_from_slice(&self.frame.to_le_bytes());
        entry[8..16].copy_from_slice(&self.bytes.to_le_bytes());
        entry[16..24].copy_from_slice(&self.newlines.to_le_bytes());
        let check = checksum(salt, &entry[..24]);
        entry[24..].copy_from_slice(&check.to_le_bytes());
        entry
    }

    fn decode(salt: Salt, entry: &[u8]) -> Option<Self> {
        let number = |at: usize| Some(u64::from_le_bytes(entry.get(at..at + 8)?.try_into().ok()?));
        let mark = Self {
            frame: number(0)?,
            bytes: number(8)?,
            newlines: number(16)?,
        };
        (mark.encode(salt) == entry).then_some(mark)
    }
}

pub(super) fn newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

fn checksum(salt: Salt, fields: &[u8]) -> u32 {
    let mut crc = crc32fast::Hasher::new();
    crc.update(&salt);
    crc.update(fields);
    crc.finalize()
}

fn path_beside(journal: &Path) -> PathBuf {
    journal.with_file_name("index")
}

/// Keeps the index of a journal that is being written. It never fails: an index that cannot be
/// written goes no further.
#[derive(Debug)]
pub(super) struct Indexer {
    file: Option<File>,
    salt: Salt,
    here: Mark,
    /// Where the next mark is due.
    due: u64,
}

impl Indexer {
    /// A new index for the journal at this path, in place of one that may be there.
    pub(super) fn create(journal: &Path, salt: Salt) -> Self {
        Self {
            file: begin(&path_beside(journal), salt).ok(),
            ..Self::none(salt)
        }
    }

    /// No index, for a journal that nobody goes about in.
    pub(super) fn none(salt: Salt) -> Self {
        Self {
            file: None,
            salt,
            here: Mark::START,
            due: Mark::START.frame + SPACING,
        }
    }

    /// Passes an output frame that stands at `start`.
    pub(super) fn pass(&mut self, start: u64, payload: &[u8]) {
        let Some(file) = &mut self.file else {
            return;
        };
        // A mark stands before output, so that what follows the last one tells how the output ends.
        if start >= self.due && !payload.is_empty() {
            self.here.frame = start;
            self.due = start + SPACING;
            if file.write_all(&self.here.encode(self.salt)).is_err() {
                self.file = None;
            }
        }
        self.here = self.here.past(payload);
    }
}

fn begin(path: &Path, salt: Salt) -> io::Result<File> {
    let mut file = File::create(path)?;
    file.write_all(&[*MAGIC, salt].concat())?;
    Ok(file)
}

/// The marks of a journal that reaches to `len`, the start first.
pub(super) fn marks(journal: &Path, salt: Salt, len: u64) -> Vec<Mark> {
    let mut marks = vec![Mark::START];
    let stored = std::fs::read(path_beside(journal)).unwrap_or_default();
    let Some(entries) = stored.strip_prefix([*MAGIC, salt].concat().as_slice()) else {
        return marks;
    };
    for entry in entries.chunks_exact(ENTRY_LEN) {
        match (Mark::decode(salt, entry), marks.last()) {
            (Some(mark), Some(last)) if mark.frame > last.frame && mark.frame < len => {
                marks.push(mark);
            }
            _ => break,
        }
    }
    marks
}
