//! Reading frames from any cursor, a buffer at a time.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use super::Cursor;
use super::format::{
    FRAME_HEADER_LEN, Frame, FrameKind, HEADER_LEN, MAX_OUTPUT, Salt, decode_frame, decode_header,
    frame_at, frame_size,
};
use super::packed::{Source, length};
use branchyard_model::{Event, Problem};

/// One read: the longest output frame fits in.
const BUFFER: usize = FRAME_HEADER_LEN + MAX_OUTPUT;

/// What a reader does where the disk has to be waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocking {
    Allowed,
    Never,
}

#[derive(Debug)]
pub struct Reader {
    source: Arc<Source>,
    salt: Salt,
    /// Where the next frame starts.
    pos: u64,
    /// Bytes of the next frame that the viewer has seen already.
    skip: usize,
    buffer: Vec<u8>,
    buffer_start: u64,
    /// The frame in the buffer whose checksum was looked at last.
    checked: Option<u64>,
    blocking: Blocking,
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
        Ok(Self::over(Arc::new(source), salt))
    }

    fn over(source: Arc<Source>, salt: Salt) -> Self {
        Self {
            source,
            salt,
            pos: Cursor::START.frame,
            skip: 0,
            buffer: Vec::new(),
            buffer_start: 0,
            checked: None,
            blocking: Blocking::Allowed,
        }
    }

    /// Another reader of the same open file. None of a packed one, of which each reader has to unpack
    /// for itself.
    pub(super) fn twin(&self) -> Option<Self> {
        match *self.source {
            Source::Plain(_) => Some(Self::over(self.source.clone(), self.salt)),
            Source::Packed { .. } => None,
        }
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
                Some((Frame { kind, payload, .. }, _))
                    if within == 0 || kind != FrameKind::Event && within < payload.len() =>
                {
                    self.go_to(cursor);
                }
                _ => return refused,
            }
        }
        Ok(Ok(()))
    }

    /// Whether the disk is waited for. Where it is not, reading gives [`io::ErrorKind::WouldBlock`], and
    /// the reader stands where it stood.
    pub(super) fn set_blocking(&mut self, blocking: Blocking) {
        self.blocking = blocking;
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

    /// The place that it goes on from.
    pub(super) fn place(&self) -> Cursor {
        Cursor {
            frame: self.pos,
            within: u32::try_from(self.skip).unwrap_or(u32::MAX),
        }
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
        if self.pos >= len || !self.require(FRAME_HEADER_LEN, len)? {
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
        let bytes = &self.buffer[at..at + size];
        // Much of a frame may be left for later, and come here often.
        let frame = match self.checked == Some(self.pos) {
            true => frame_at(self.pos, bytes),
            false => decode_frame(self.salt, self.pos, bytes),
        };
        self.checked = frame.map(|frame| frame.start);
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
        self.checked = None;
        let read = match self.blocking {
            Blocking::Allowed => self.source.read_at(&mut self.buffer, self.pos),
            Blocking::Never => self.source.read_now(&mut self.buffer, self.pos, need),
        };
        self.buffer.truncate(*read.as_ref().unwrap_or(&0));
        Ok(read? >= need)
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
mod tests;
