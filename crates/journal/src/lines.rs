//! Output frames cut into events of at most one line each.
//!
//! The cut needs no memory of what came before a cursor: an unfinished line is held back only while
//! the very next frame may continue it, and is given out as it is when anything else follows. So a
//! single place in the file is always enough to resume, and no byte is lost or seen twice.

use std::ops::ControlFlow;

use super::Cursor;
use super::format::{Frame, FrameKind, MAX_OUTPUT, Stream};

/// How an output event ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eol {
    Lf,
    CrLf,
    /// Not a whole line: more of it may follow in the next event.
    None,
}

impl Eol {
    /// How a line ends that stands before a newline, and the line without that.
    pub fn of(line: &[u8]) -> (&[u8], Self) {
        match line.strip_suffix(b"\r") {
            Some(bytes) => (bytes, Self::CrLf),
            None => (line, Self::Lf),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum LineItem<'a> {
    Output {
        stream: Stream,
        /// Without the ending.
        bytes: &'a [u8],
        eol: Eol,
    },
    /// An event as JSON.
    Event { json: &'a [u8] },
}

#[derive(Debug, Default)]
pub struct Splitter {
    pending: Vec<u8>,
    stream: Stream,
    /// Where the first byte of `pending` stands, or of what was there last.
    begun: Option<Cursor>,
    /// The last frame that added to `pending`, and the bytes of it that did.
    last_start: u64,
    last_end: u64,
    last_len: usize,
    last_added: usize,
}

impl Splitter {
    /// Takes a frame, of which the first `skip` bytes were seen before, and gives out what is whole
    /// until `emit` has had enough. Returns how much of the payload it is through with: given the
    /// same frame from there on, it goes on.
    pub fn frame(
        &mut self,
        frame: &Frame<'_>,
        skip: usize,
        mut emit: impl FnMut(LineItem<'_>, Cursor) -> ControlFlow<()>,
    ) -> usize {
        let continues = frame.kind == FrameKind::Output(self.stream);
        if !continues && self.flush_all(&mut emit).is_break() {
            return skip;
        }
        match frame.kind {
            FrameKind::Event => {
                let event = LineItem::Event {
                    json: frame.payload,
                };
                // Enough or not: there is nothing left of this frame.
                let _ = emit(event, frame.cursor_at(frame.payload.len()));
                frame.payload.len()
            }
            FrameKind::Output(stream) => {
                self.stream = stream;
                self.output(frame, skip, &mut emit)
            }
        }
    }

    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Forgets an unfinished line, if there is one, and says where it begins: read again from there, it
    /// is the same.
    pub fn put_back(&mut self) -> Option<Cursor> {
        let begun = self.begun.filter(|_| self.has_pending());
        self.pending.clear();
        begun
    }

    /// Gives out an unfinished line, but holds back the first bytes of an unfinished character:
    /// called again before more came, it gives out those too.
    pub fn flush(
        &mut self,
        mut emit: impl FnMut(LineItem<'_>, Cursor) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let tail = unfinished_char(&self.pending);
        if tail == 0 || tail == self.pending.len() || tail > self.last_added {
            return self.flush_all(&mut emit);
        }
        let keep_from = self.pending.len() - tail;
        let seen = self.last_len - tail;
        let cursor = Cursor {
            frame: self.last_start,
            within: u32::try_from(seen).unwrap_or(u32::MAX),
        };
        self.last_added = tail;
        self.give_out(keep_from, cursor, &mut emit)
    }

    /// Gives out all of an unfinished line.
    pub fn flush_all(
        &mut self,
        emit: &mut impl FnMut(LineItem<'_>, Cursor) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if self.pending.is_empty() {
            return ControlFlow::Continue(());
        }
        let cursor = Cursor {
            frame: self.last_end,
            within: 0,
        };
        let flow = emit(self.partial(&self.pending), cursor);
        self.pending = Vec::new();
        flow
    }

    fn output(
        &mut self,
        frame: &Frame<'_>,
        skip: usize,
        emit: &mut impl FnMut(LineItem<'_>, Cursor) -> ControlFlow<()>,
    ) -> usize {
        let payload = frame.payload;
        let mut at = skip;
        while at < payload.len() {
            let rest = &payload[at..];
            let newline = memchr::memchr(b'\n', rest);
            let flow = if let (Some(end), true) = (newline, self.pending.is_empty()) {
                at += end + 1;
                emit(whole(self.stream, &rest[..end]), frame.cursor_at(at))
            } else {
                self.unfinished(frame, &mut at, newline, emit)
            };
            if flow.is_break() {
                break;
            }
        }
        at
    }

    /// Goes on with a line that began before, or does not end here.
    fn unfinished(
        &mut self,
        frame: &Frame<'_>,
        at: &mut usize,
        newline: Option<usize>,
        emit: &mut impl FnMut(LineItem<'_>, Cursor) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let rest = &frame.payload[*at..];
        let room = MAX_OUTPUT - self.pending.len();
        if room == 0 {
            // Full since the frame before: an unfinished character began there, not here.
            return self.flush(&mut *emit);
        }
        if self.pending.is_empty() {
            self.begun = Some(frame.cursor_at(*at));
        }
        let part = newline.unwrap_or(rest.len());
        if part > room {
            self.pending.extend_from_slice(&rest[..room]);
            *at += room;
            // Cut before an unfinished character if that began in this frame.
            let tail = unfinished_char(&self.pending);
            let tail = if tail > room { 0 } else { tail };
            self.remember(frame, tail);
            let cursor = frame.cursor_at(*at - tail);
            return self.give_out(MAX_OUTPUT - tail, cursor, emit);
        }
        self.pending.extend_from_slice(&rest[..part]);
        *at += part;
        if newline.is_none() {
            self.remember(frame, part);
            return ControlFlow::Continue(());
        }
        *at += 1;
        let flow = emit(whole(self.stream, &self.pending), frame.cursor_at(*at));
        self.pending = Vec::new();
        flow
    }

    /// Gives out the beginning of `pending`, which ends at `cursor`.
    fn give_out(
        &mut self,
        len: usize,
        cursor: Cursor,
        emit: &mut impl FnMut(LineItem<'_>, Cursor) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let flow = emit(self.partial(&self.pending[..len]), cursor);
        self.pending.drain(..len);
        self.begun = Some(cursor);
        flow
    }

    fn remember(&mut self, frame: &Frame<'_>, added: usize) {
        self.last_start = frame.start;
        self.last_end = frame.end();
        self.last_len = frame.payload.len();
        self.last_added = added;
    }

    fn partial<'a>(&self, bytes: &'a [u8]) -> LineItem<'a> {
        LineItem::Output {
            stream: self.stream,
            bytes,
            eol: Eol::None,
        }
    }
}

fn whole(stream: Stream, line: &[u8]) -> LineItem<'_> {
    let (bytes, eol) = Eol::of(line);
    LineItem::Output { stream, bytes, eol }
}

/// How many bytes at the end are the beginning of a UTF-8 character whose rest is missing.
fn unfinished_char(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(3);
    (from..bytes.len())
        .find(|&i| bytes[i] >= 0xC0)
        .filter(|&i| matches!(std::str::from_utf8(&bytes[i..]), Err(e) if e.error_len().is_none()))
        .map_or(0, |i| bytes.len() - i)
}

#[cfg(test)]
mod tests;
