//! Reading frames from any cursor, a buffer at a time.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::Cursor;
use super::format::{
    FRAME_HEADER_LEN, Frame, FrameKind, HEADER_LEN, MAX_OUTPUT, Salt, decode_frame, decode_header,
    frame_size,
};
use super::packed::{Source, length};
use crate::model::{Event, Problem};

/// One read: the longest output frame fits in.
const BUFFER: usize = FRAME_HEADER_LEN + MAX_OUTPUT;

#[derive(Debug)]
pub struct Reader {
    source: Source,
    salt: Salt,
    /// Where the next frame starts.
    pos: u64,
    /// Bytes of the next frame that the viewer has seen already.
    skip: usize,
    buffer: Vec<u8>,
    buffer_start: u64,
}

/// The event that a journal ends with, if it does not end with output. All of it is read for that.
pub fn last_event(path: &Path) -> io::Result<Option<Event>> {
    let len = length(path)?;
    let (mut reader, mut last) = (Reader::open(path)?, None);
    while let Some((frame, _)) = reader.next(len)? {
        last = (frame.kind == FrameKind::Event).then(|| frame.payload.to_vec());
    }
    Ok(last.and_then(|json| serde_json::from_slice(&json).ok()))
}

/// A frame that the reader has gone past and still holds.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) start: u64,
    pub(super) kind: FrameKind,
    micros: u64,
    /// Where in the buffer.
    payload: Range<usize>,
    skip: usize,
}

impl Reader {
    /// The journal at this path, plain or packed.
    pub fn open(path: &Path) -> io::Result<Self> {
        let source = Source::open(path)?;
        let mut header = [0; HEADER_LEN];
        if source.read_at(&mut header, 0)? < HEADER_LEN {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let salt = decode_header(&header).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::InvalidData,
                "not a journal of a version that is known here",
            )
        })?;
        Ok(Self {
            source,
            salt,
            pos: Cursor::START.frame,
            skip: 0,
            buffer: Vec::new(),
            buffer_start: 0,
        })
    }

    /// Goes to `cursor` in a journal that reaches to `len`; refused unless this journal gave it out.
    pub fn seek(&mut self, cursor: Cursor, len: u64) -> io::Result<Result<(), Problem>> {
        let refused = Ok(Err(Cursor::refused(cursor)));
        if cursor.frame > len || (cursor.frame == len && cursor.within > 0) {
            return refused;
        }
        self.pos = cursor.frame;
        self.skip = 0;
        if cursor.frame < len {
            let within = cursor.within as usize;
            match self.next(len)? {
                Some((frame, _)) if within == 0 => self.pos = frame.start,
                Some((frame, _))
                    if frame.kind != FrameKind::Event && within < frame.payload.len() =>
                {
                    self.pos = frame.start;
                    self.skip = within;
                }
                _ => return refused,
            }
        }
        Ok(Ok(()))
    }

    /// Goes to a place that is known to be one.
    pub(super) fn go_to(&mut self, place: Cursor) {
        self.pos = place.frame;
        self.skip = place.within as usize;
    }

    pub(super) fn salt(&self) -> Salt {
        self.salt
    }

    pub fn position(&self) -> u64 {
        self.pos
    }

    /// The next frame that ends at or before `len`, with the bytes of its payload to pass over.
    /// `None` at `len`, and at a place that is damaged.
    pub fn next(&mut self, len: u64) -> io::Result<Option<(Frame<'_>, usize)>> {
        Ok(self.advance(len)?.map(|passed| {
            let frame = Frame {
                start: passed.start,
                kind: passed.kind,
                micros: passed.micros,
                payload: &self.buffer[passed.payload],
            };
            (frame, passed.skip)
        }))
    }

    /// As `next`, for one who wants another frame if this one does not suit.
    pub(super) fn advance(&mut self, len: u64) -> io::Result<Option<Passed>> {
        if self.pos >= len {
            return Ok(None);
        }
        if !self.require(FRAME_HEADER_LEN, len)? {
            return Ok(None);
        }
        let Some(size) = frame_size(self.buffered()) else {
            return Ok(None);
        };
        if !self.require(size, len)? {
            return Ok(None);
        }
        let skip = std::mem::take(&mut self.skip);
        let at = usize::try_from(self.pos - self.buffer_start).map_err(io::Error::other)?;
        let frame = decode_frame(self.salt, self.pos, &self.buffer[at..at + size]);
        let passed = frame.map(|frame| Passed {
            start: frame.start,
            kind: frame.kind,
            micros: frame.micros,
            payload: at + FRAME_HEADER_LEN..at + size,
            skip,
        });
        self.pos += passed.as_ref().map_or(0, |_| size as u64);
        Ok(passed)
    }

    /// The payload of a frame that was passed, until the reader goes on.
    pub(super) fn payload(&self, passed: &Passed) -> &[u8] {
        self.buffer
            .get(passed.payload.start + passed.skip..passed.payload.end)
            .unwrap_or_default()
    }

    /// Gives back the memory for reading until there is more to read.
    pub fn release(&mut self) {
        self.buffer = Vec::new();
    }

    fn buffered(&self) -> &[u8] {
        self.pos
            .checked_sub(self.buffer_start)
            .and_then(|start| usize::try_from(start).ok())
            .and_then(|start| self.buffer.get(start..))
            .unwrap_or_default()
    }

    /// Has at least `need` bytes from the current position; false if the journal ends before.
    fn require(&mut self, need: usize, len: u64) -> io::Result<bool> {
        if self.buffered().len() >= need {
            return Ok(true);
        }
        let available = usize::try_from(len - self.pos).unwrap_or(usize::MAX);
        if need > available {
            return Ok(false);
        }
        self.buffer.resize(need.max(BUFFER).min(available), 0);
        self.buffer_start = self.pos;
        let filled = self.source.read_at(&mut self.buffer, self.pos)?;
        self.buffer.truncate(filled);
        Ok(filled >= need)
    }
}

/// How far the journal at `path` can be read: its length without a torn tail.
pub fn valid_length(path: &Path) -> io::Result<u64> {
    let mut reader = Reader::open(path)?;
    let len = reader.source.len()?;
    while reader.next(len)?.is_some() {}
    Ok(reader.position())
}

pub(super) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the journal is damaged here")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::{Stream, Writer};
    use super::*;

    const OUT: FrameKind = FrameKind::Output(Stream::Stdout);

    #[test]
    fn a_torn_tail_is_cut_and_the_journal_goes_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut writer, _) = Writer::create(&path).unwrap();
        writer.append(OUT, b"first\n").unwrap();
        writer.append(OUT, b"second\n").unwrap();
        drop(writer);
        let whole = std::fs::metadata(&path).unwrap().len();
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(whole - 3).unwrap();

        let (mut writer, _) = Writer::reopen(&path).unwrap();
        writer.append(OUT, b"third\n").unwrap();
        drop(writer);

        let mut reader = Reader::open(&path).unwrap();
        let len = valid_length(&path).unwrap();
        let mut seen = Vec::new();
        while let Some((frame, _)) = reader.next(len).unwrap() {
            seen.extend_from_slice(frame.payload);
        }
        assert_eq!(seen, b"first\nthird\n");
    }

    #[test]
    fn output_that_imitates_a_frame_is_no_place_to_resume_from() {
        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("a"), dir.path().join("b"));
        let (mut writer, _) = Writer::create(&first).unwrap();
        writer
            .append(FrameKind::Event, b"{\"type\":\"complete\"}")
            .unwrap();
        let forged = std::fs::read(&first).unwrap()[HEADER_LEN..].to_vec();

        let (mut writer, extent) = Writer::create(&second).unwrap();
        writer.append(OUT, &forged).unwrap();
        let inside = Cursor {
            frame: Cursor::START.frame + FRAME_HEADER_LEN as u64,
            within: 0,
        };
        let len = extent.borrow().len;
        let mut reader = Reader::open(&second).unwrap();
        assert!(reader.seek(inside, len).unwrap().is_err());
        assert!(
            reader
                .seek(
                    Cursor {
                        frame: len + 1,
                        within: 0
                    },
                    len
                )
                .unwrap()
                .is_err()
        );
        assert!(
            reader
                .seek(
                    Cursor {
                        frame: 16,
                        within: 1 << 20
                    },
                    len
                )
                .unwrap()
                .is_err()
        );
        assert!(
            reader
                .seek(
                    Cursor {
                        frame: 16,
                        within: 2
                    },
                    len
                )
                .unwrap()
                .is_ok()
        );
    }

    #[test]
    fn damage_ends_the_journal_instead_of_being_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut writer, _) = Writer::create(&path).unwrap();
        writer.append(OUT, b"good").unwrap();
        let good = valid_length(&path).unwrap();
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .unwrap();
        file.write_all(&[0xff; 64]).unwrap();
        assert_eq!(valid_length(&path).unwrap(), good);
    }
}
