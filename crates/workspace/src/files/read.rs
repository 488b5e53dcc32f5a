//! Reading a part of a file in a workspace, by lines or by bytes.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::beneath::{FileRoot, shown};
use super::change::MAX_CHANGED;
use super::regular::{MAX_LINED, open_regular, too_long};
use crate::files::beneath;
use crate::{Error, Workspace};
use branchyard_git as git;
use branchyard_model::{About, Problem, sha256};

/// What `read_file` takes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadRequest {
    pub path: String,
    /// First line wanted, counted from 1.
    pub start_line: Option<usize>,
    /// Last line wanted.
    pub end_line: Option<usize>,
    /// In place of `start_line`: the first byte wanted, counted from 0. The `end_byte` of a part that was cut
    /// is where the next one starts.
    pub start_byte: Option<u64>,
    /// In place of `end_line`: the byte before which to stop.
    pub end_byte: Option<u64>,
}

/// A part of a file: whole lines, unless one alone is longer than the limit or bytes were asked for.
#[derive(Debug)]
pub struct FilePart {
    pub path: String,
    pub bytes: Vec<u8>,
    /// Where in the file `bytes` begins.
    pub start_byte: u64,
    /// Not of files that are too large to count their lines.
    pub lines: Option<LinesOfPart>,
    /// Of the whole file, in bytes.
    pub size: u64,
    /// `bytes` ends before what was asked for does.
    pub truncated: bool,
    /// Of the whole file, unless it is larger than what can be changed.
    pub sha256: Option<String>,
    /// The file differs from the commit that the answer names, or is not in it.
    pub modified: bool,
}

/// Which lines of its file a part holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinesOfPart {
    /// The one that the part begins in.
    pub first: usize,
    /// The last one that ends in the part; 0 if none does.
    pub last: usize,
    /// Of the whole file.
    pub total: usize,
}

/// A part of a file as JSON has it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct FileText {
    pub path: String,
    pub text: String,
    /// `utf-8`, or `base64` where the bytes are not text.
    pub encoding: Cow<'static, str>,
    /// The line that `text` begins in; lines are not counted in files of more than 64 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_line: Option<usize>,
    /// The last line that ends in `text`; 0 if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_lines: Option<usize>,
    /// The byte of the file that `text` begins with, counted from 0.
    pub start_byte: u64,
    /// The byte after the last one in `text`.
    pub end_byte: u64,
    /// Of the whole file, in bytes.
    pub size: u64,
    /// `text` ends before what was asked for does: `start_byte` of the next request is the `end_byte` of this
    /// answer.
    pub truncated: bool,
    /// Of the whole file, for the `expected` of a change; not of files of more than 16 MiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The file differs from the commit that the answer names, or is not in it.
    pub modified: bool,
}

impl FilePart {
    pub fn end_byte(&self) -> u64 {
        self.start_byte + self.bytes.len() as u64
    }
}

impl From<FilePart> for FileText {
    fn from(part: FilePart) -> Self {
        let end_byte = part.end_byte();
        let (text, encoding) = match String::from_utf8(part.bytes) {
            Ok(text) => (text, "utf-8"),
            Err(error) => (
                base64::engine::general_purpose::STANDARD.encode(error.into_bytes()),
                "base64",
            ),
        };
        Self {
            path: part.path,
            text,
            encoding: encoding.into(),
            start_line: part.lines.map(|lines| lines.first),
            end_line: part.lines.map(|lines| lines.last),
            total_lines: part.lines.map(|lines| lines.total),
            start_byte: part.start_byte,
            end_byte,
            size: part.size,
            truncated: part.truncated,
            sha256: part.sha256,
            modified: part.modified,
        }
    }
}

/// Reads a part of a file, at most `max` bytes of it. The caller shares the files.
pub async fn read(
    workspace: &Arc<Workspace>,
    request: ReadRequest,
    max: usize,
) -> Result<(About, FilePart), Error> {
    workspace
        .looking(move |this| {
            let (path, mut part) = read_in(&FileRoot::of(this)?, &request, max)?;
            let repo = this.worktree().open()?;
            part.modified = git::differs_from_head(&repo, &path).unwrap_or(true);
            Ok((beneath::standing_for_read(this)?, part))
        })
        .await
}

/// Whether the file is as the commit has it is left to the caller.
pub(super) fn read_in(
    root: &FileRoot,
    request: &ReadRequest,
    max: usize,
) -> Result<(PathBuf, FilePart), Error> {
    request.check()?;
    let path = root.relative(&request.path)?;
    let (file, size) = open_regular(&root.open(&path)?, &path, root.included())?;
    if size > MAX_LINED && !request.is_by_bytes() {
        return Err(too_long(&path, size).into());
    }
    let mut part = read_part(&file, size, request, max).map_err(Error::io("read a file"))?;
    part.path = shown(&path);
    part.sha256 = sha256_of(&file, size).map_err(Error::io("read a file"))?;
    Ok((path, part))
}

fn sha256_of(mut file: &File, size: u64) -> io::Result<Option<String>> {
    if size > MAX_CHANGED {
        return Ok(None);
    }
    let mut content = Vec::new();
    file.rewind()?;
    file.take(MAX_CHANGED).read_to_end(&mut content)?;
    Ok(Some(sha256(&content)))
}

impl ReadRequest {
    fn check(&self) -> Result<(), Problem> {
        let refused = |field: &str, why: &str| Err(Problem::unprocessable(field, why));
        if self.start_line.is_some() && self.start_byte.is_some() {
            return refused("start_byte", "give either start_line or start_byte");
        }
        if self.end_line.is_some() && self.end_byte.is_some() {
            return refused("end_byte", "give either end_line or end_byte");
        }
        if self.start_byte.is_none() && self.end_line.is_some_and(|end| end < self.first_line()) {
            return refused("end_line", "end_line is before start_line");
        }
        if let (Some(start), Some(end)) = (self.start_byte, self.end_byte)
            && end < start
        {
            return refused("end_byte", "end_byte is before start_byte");
        }
        Ok(())
    }

    fn first_line(&self) -> usize {
        self.start_line.unwrap_or(1).max(1)
    }

    /// Whether no line has to be counted to find the part.
    fn is_by_bytes(&self) -> bool {
        let is_by_lines = self.start_line.is_some() || self.end_line.is_some();
        (self.start_byte.is_some() || self.end_byte.is_some()) && !is_by_lines
    }
}

fn read_part(file: &File, size: u64, request: &ReadRequest, max: usize) -> io::Result<FilePart> {
    let (wanted, counted) = if size > MAX_LINED {
        let start = request.start_byte.unwrap_or(0).min(size);
        (start..request.end_byte.unwrap_or(size).min(size), None)
    } else {
        let (wanted, lines) = find(file, request)?;
        (wanted, Some(lines))
    };
    let length = usize::try_from(wanted.end.saturating_sub(wanted.start)).unwrap_or(usize::MAX);
    let truncated = length > max;
    let mut bytes = Vec::with_capacity(length.min(max));
    let mut part = file;
    part.seek(SeekFrom::Start(wanted.start))?;
    part.take(length.min(max) as u64).read_to_end(&mut bytes)?;
    if truncated {
        end_well(&mut bytes);
    }
    let end_byte = wanted.start + bytes.len() as u64;
    let lines = counted.map(|(first, total)| {
        let newlines = memchr::memchr_iter(b'\n', &bytes).count();
        let ends_open = end_byte >= size && bytes.last().is_some_and(|last| *last != b'\n');
        let ended = newlines + usize::from(ends_open);
        let last = if ended == 0 { 0 } else { first + ended - 1 };
        LinesOfPart { first, last, total }
    });
    Ok(FilePart {
        path: String::new(),
        bytes,
        start_byte: wanted.start,
        lines,
        size,
        truncated,
        sha256: None,
        modified: false,
    })
}

/// Where in a file the lines or bytes are that were asked for, the first line of them, and how many lines there are in all.
/// Goes through the whole file: the latter is part of the answer.
fn find(file: &File, request: &ReadRequest) -> io::Result<(Range<u64>, (usize, usize))> {
    let mut first_line = match request.start_byte {
        Some(_) => 1,
        None => request.first_line(),
    };
    let mut start = match first_line {
        1 => Some(request.start_byte.unwrap_or(0)),
        _ => None,
    };
    let mut end = request.end_byte;
    let (mut offset, mut newlines, mut ends_open) = (0, 0, false);
    let mut file = file.take(MAX_LINED);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = file.read(&mut buffer)?;
        let Some(last) = read.checked_sub(1) else {
            break;
        };
        for newline in memchr::memchr_iter(b'\n', &buffer[..read]) {
            newlines += 1;
            let next_line = offset + newline as u64 + 1;
            if request.start_byte.is_some_and(|start| next_line <= start) {
                first_line += 1;
            }
            if request.start_byte.is_none() && newlines + 1 == first_line {
                start = Some(next_line);
            }
            if request.end_line == Some(newlines) {
                end = Some(next_line);
            }
        }
        ends_open = buffer[last] != b'\n';
        offset += read as u64;
    }
    let start = start.unwrap_or(offset).min(offset);
    let total_lines = newlines + usize::from(ends_open);
    let wanted = start..end.unwrap_or(offset).clamp(start, offset);
    Ok((wanted, (first_line, total_lines)))
}

/// Has a part that was cut end with a line, or at least with a character.
fn end_well(bytes: &mut Vec<u8>) {
    if let Some(newline) = memchr::memrchr(b'\n', bytes) {
        bytes.truncate(newline + 1);
    } else if let Err(error) = std::str::from_utf8(bytes)
        && error.error_len().is_none()
        && error.valid_up_to() > 0
    {
        bytes.truncate(error.valid_up_to());
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        // Read from its beginning, as a file that was just opened.
        std::io::Seek::rewind(&mut file).unwrap();
        file
    }

    fn part(bytes: &[u8], request: &ReadRequest, max: usize) -> FilePart {
        read_part(&file(bytes), bytes.len() as u64, request, max).unwrap()
    }

    fn lines(first: usize, last: usize, total: usize) -> Option<LinesOfPart> {
        Some(LinesOfPart { first, last, total })
    }

    #[test]
    fn a_part_ends_with_a_line_or_within_one_that_is_too_long() {
        let text = "one\ntwo\na line of é and more\nend".as_bytes();
        let from = |start_byte, max| {
            let request = ReadRequest {
                start_byte: Some(start_byte),
                ..ReadRequest::default()
            };
            part(text, &request, max)
        };
        let first = from(0, 10);
        assert_eq!(first.bytes, b"one\ntwo\n");
        assert_eq!(first.lines, lines(1, 2, 4));
        assert!(first.truncated);
        let inside = from(8, 11);
        // The tenth and eleventh byte are one character.
        assert_eq!(inside.bytes, b"a line of ");
        assert_eq!(inside.lines, lines(3, 0, 4));
        assert!(inside.truncated);
        let rest = from(18, 100);
        assert_eq!(rest.bytes, "é and more\nend".as_bytes());
        assert_eq!(rest.lines, lines(3, 4, 4));
        assert!(!rest.truncated);
        let beyond = from(1_000, 100);
        assert_eq!(
            (beyond.start_byte, beyond.bytes.len()),
            (text.len() as u64, 0)
        );
        assert!(!beyond.truncated);
    }

    #[test]
    fn lines_are_found_wherever_they_are() {
        let text = b"1\n22\n333\n4444";
        for (start_line, end_line, expected, which) in [
            (None, None, &text[..], lines(1, 4, 4)),
            (Some(0), Some(1), b"1\n", lines(1, 1, 4)),
            (Some(2), Some(3), b"22\n333\n", lines(2, 3, 4)),
            (Some(4), Some(9), b"4444", lines(4, 4, 4)),
            (Some(5), None, b"", lines(5, 0, 4)),
        ] {
            let request = ReadRequest {
                start_line,
                end_line,
                ..ReadRequest::default()
            };
            let found = part(text, &request, 100);
            assert_eq!(found.bytes, expected, "{request:?}");
            assert_eq!(found.lines, which, "{request:?}");
        }
    }

    proptest! {
        #[test]
        fn parts_of_any_size_make_up_the_file(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>(), Just(b'a')], 0..300),
            max in 1usize..50,
            by_line in any::<bool>(),
        ) {
            let mut whole = Vec::new();
            let mut request = ReadRequest { start_line: by_line.then_some(1), ..ReadRequest::default() };
            loop {
                let found = part(&bytes, &request, max);
                prop_assert!(found.bytes.len() <= max);
                prop_assert_eq!(found.start_byte, whole.len() as u64);
                whole.extend_from_slice(&found.bytes);
                if !found.truncated {
                    break;
                }
                prop_assert!(!found.bytes.is_empty());
                request = ReadRequest { start_byte: Some(found.end_byte()), ..ReadRequest::default() };
            }
            prop_assert_eq!(whole, bytes);
        }
    }
}
