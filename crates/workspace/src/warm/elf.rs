//! Which parts of an object file the program will see. What is only in the rest, debug information for the
//! most part, has no effect on what the program does.

use std::io;
use std::ops::Range;

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const HEADER: usize = 64;
const SECTION: usize = 64;
/// Is in memory while the program runs.
const ALLOCATED: u64 = 2;
/// Takes no place in the file.
const NO_BITS: u32 = 8;

/// Reads exactly so many bytes at that place of a file.
pub(super) type ReadAt<'a> = &'a dyn Fn(u64, usize) -> io::Result<Vec<u8>>;

/// The allocated parts of the object file that begins at `base`, as places in the file; `None` if it is no
/// object file, or one of a kind that is not known here.
pub(super) fn allocated(read: ReadAt<'_>, base: u64) -> io::Result<Option<Vec<Range<u64>>>> {
    let header = match read(base, HEADER) {
        Ok(header) if header.starts_with(MAGIC) => header,
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    };
    let (offset, size, count) = (
        long(&header, 0x28),
        usize::from(short(&header, 0x3a)),
        usize::from(short(&header, 0x3c)),
    );
    // Very many sections are counted elsewhere.
    if size != SECTION || count == 0 {
        return Ok(None);
    }
    let Some(table) = base.checked_add(offset) else {
        return Ok(None);
    };
    let sections = match read(table, size * count) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        sections => sections?,
    };
    let parts = sections.chunks_exact(SECTION).filter_map(|section| {
        let is_there = int(section, 4) != NO_BITS && long(section, 8) & ALLOCATED != 0;
        let begin = base.saturating_add(long(section, 0x18));
        is_there.then(|| begin..begin.saturating_add(long(section, 0x20)))
    });
    Ok(Some(parts.collect()))
}

fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn int(bytes: &[u8], at: usize) -> u32 {
    u32::from(short(bytes, at)) | u32::from(short(bytes, at + 2)) << 16
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(int(bytes, at)) | u64::from(int(bytes, at + 4)) << 32
}
