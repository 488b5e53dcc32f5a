//! Small files with a content of ours: written whole, and held against what they are to say.

use std::fs;
use std::io;
use std::path::Path;

use super::plain_file::read_plain;
use branchyard_runtime::disk::if_there;

/// Writes by rename, so that a reader sees all of it or nothing, and a link is replaced, not followed.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let fresh = path.with_extension("branchyard");
    if_there(fs::remove_file(&fresh))?;
    fs::write(&fresh, content)?;
    fs::rename(&fresh, path)
}

pub(super) fn is_exactly(path: &Path, expected: &str) -> bool {
    let found = read_plain(path, expected.len() as u64);
    found.is_ok_and(|found| found.is_some_and(|content| content == expected.as_bytes()))
}
