//! Output frames cut into events of at most one line each.
//!
//! The cut needs no memory of what came before a cursor: an unfinished line is held back only while
//! the very next frame may continue it, and is given out as it is when anything else follows. So a
//! single place in the file is always enough to resume, and no byte is lost or seen twice.

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

#[derive(Debug, Clone, Copy)]
pub enum Item<'a> {
    Output {
        stream: Stream,
        /// Without the ending.
        bytes: &'a [u8],
        eol: Eol,
    },
    /// An event as JSON.
    Event { json: &'a [u8] },
}

#[derive(Debug)]
pub struct Splitter {
    pending: Vec<u8>,
    stream: Stream,
    /// The last frame that added to `pending`, and the bytes of it that did.
    last_start: u64,
    last_end: u64,
    last_len: usize,
    last_added: usize,
}

impl Default for Splitter {
    fn default() -> Self {
        Self {
            pending: Vec::new(),
            stream: Stream::Stdout,
            last_start: 0,
            last_end: 0,
            last_len: 0,
            last_added: 0,
        }
    }
}

impl Splitter {
    /// Takes a frame, of which the first `skip` bytes were seen before, and gives out what is whole.
    pub fn frame(
        &mut self,
        frame: &Frame<'_>,
        skip: usize,
        mut emit: impl FnMut(Item<'_>, Cursor),
    ) {
        match frame.kind {
            FrameKind::Event => {
                self.flush_all(&mut emit);
                emit(
                    Item::Event {
                        json: frame.payload,
                    },
                    frame.cursor_at(frame.payload.len()),
                );
            }
            FrameKind::Output(stream) => {
                if stream != self.stream {
                    self.flush_all(&mut emit);
                    self.stream = stream;
                }
                self.output(frame, skip, &mut emit);
            }
        }
    }

    pub fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Gives out an unfinished line, but holds back the first bytes of an unfinished character:
    /// called again before more came, it gives out those too.
    pub fn flush(&mut self, mut emit: impl FnMut(Item<'_>, Cursor)) {
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
        emit(self.partial(&self.pending[..keep_from]), cursor);
        self.pending.drain(..keep_from);
        self.last_added = tail;
    }

    /// Gives out all of an unfinished line.
    pub fn flush_all(&mut self, emit: &mut impl FnMut(Item<'_>, Cursor)) {
        if self.pending.is_empty() {
            return;
        }
        let cursor = Cursor {
            frame: self.last_end,
            within: 0,
        };
        emit(self.partial(&self.pending), cursor);
        self.pending = Vec::new();
    }

    fn output(&mut self, frame: &Frame<'_>, skip: usize, emit: &mut impl FnMut(Item<'_>, Cursor)) {
        let payload = frame.payload;
        let mut at = skip;
        while at < payload.len() {
            let rest = &payload[at..];
            let newline = memchr::memchr(b'\n', rest);
            if let (Some(end), true) = (newline, self.pending.is_empty()) {
                at += end + 1;
                emit(whole(self.stream, &rest[..end]), frame.cursor_at(at));
                continue;
            }
            let room = MAX_OUTPUT - self.pending.len();
            if room == 0 {
                // Full since the frame before: an unfinished character began there, not here.
                self.flush(&mut *emit);
                continue;
            }
            let part = newline.unwrap_or(rest.len());
            if part > room {
                self.pending.extend_from_slice(&rest[..room]);
                at += room;
                self.give_out_piece(frame, at, room, emit);
                continue;
            }
            self.pending.extend_from_slice(&rest[..part]);
            at += part;
            if newline.is_some() {
                at += 1;
                emit(whole(self.stream, &self.pending), frame.cursor_at(at));
                self.pending = Vec::new();
            } else {
                self.remember(frame, part);
            }
        }
    }

    /// Gives out a full `pending`, cut before an unfinished character if that began in this frame.
    fn give_out_piece(
        &mut self,
        frame: &Frame<'_>,
        at: usize,
        added: usize,
        emit: &mut impl FnMut(Item<'_>, Cursor),
    ) {
        let tail = unfinished_char(&self.pending);
        let tail = if tail > added { 0 } else { tail };
        let keep_from = self.pending.len() - tail;
        emit(
            self.partial(&self.pending[..keep_from]),
            frame.cursor_at(at - tail),
        );
        self.pending.drain(..keep_from);
        self.remember(frame, tail);
    }

    fn remember(&mut self, frame: &Frame<'_>, added: usize) {
        self.last_start = frame.start;
        self.last_end = frame.end();
        self.last_len = frame.payload.len();
        self.last_added = added;
    }

    fn partial<'a>(&self, bytes: &'a [u8]) -> Item<'a> {
        Item::Output {
            stream: self.stream,
            bytes,
            eol: Eol::None,
        }
    }
}

fn whole(stream: Stream, line: &[u8]) -> Item<'_> {
    let (bytes, eol) = match line.strip_suffix(b"\r") {
        Some(bytes) => (bytes, Eol::CrLf),
        None => (line, Eol::Lf),
    };
    Item::Output { stream, bytes, eol }
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
mod tests {
    use proptest::prelude::*;

    use super::super::{Reader, Writer};
    use super::*;

    type Seen = Vec<(Stream, Vec<u8>, Cursor)>;

    /// Reads `path` from `cursor`; `flush_at` says after which frames the viewer lost patience.
    fn view(path: &std::path::Path, cursor: Cursor, len: u64, flush_at: &[bool]) -> Seen {
        let mut reader = Reader::open(path).unwrap();
        reader.seek(cursor, len).unwrap().unwrap();
        let (mut splitter, mut seen) = (Splitter::default(), Seen::new());
        let mut take = |item: Item<'_>, cursor: Cursor| {
            if let Item::Output { stream, bytes, eol } = item {
                assert!(bytes.len() <= MAX_OUTPUT);
                let mut bytes = bytes.to_vec();
                bytes.extend_from_slice(match eol {
                    Eol::Lf => b"\n",
                    Eol::CrLf => b"\r\n",
                    Eol::None => b"",
                });
                seen.push((stream, bytes, cursor));
            }
        };
        let mut patience = flush_at.iter().cycle();
        while let Some((frame, skip)) = reader.next(len).unwrap() {
            splitter.frame(&frame, skip, &mut take);
            if *patience.next().unwrap() {
                splitter.flush(&mut take);
            }
        }
        splitter.flush_all(&mut take);
        seen
    }

    fn joined(seen: &Seen, stream: Stream) -> Vec<u8> {
        seen.iter()
            .filter(|s| s.0 == stream)
            .flat_map(|s| s.1.clone())
            .collect()
    }

    fn chunk() -> impl Strategy<Value = (bool, Vec<u8>)> {
        let bytes = prop_oneof![
            proptest::collection::vec(any::<u8>(), 1..40),
            "[a\n\ré日\u{1f600}]{1,30}".prop_map(String::into_bytes),
            (1usize..MAX_OUTPUT).prop_map(|n| "日".repeat(n / 3 + 1).into_bytes()[..n].to_vec()),
        ];
        (any::<bool>(), bytes)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_viewer_cut_off_anywhere_resumes_exactly(
            chunks in proptest::collection::vec(chunk(), 1..20),
            flushes in proptest::collection::vec(any::<bool>(), 1..7),
            again in proptest::collection::vec(any::<bool>(), 1..7),
            cut in any::<prop::sample::Index>(),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("journal");
            let (mut writer, extent) = Writer::create(&path).unwrap();
            let (mut out, mut err) = (Vec::new(), Vec::new());
            for (to_out, bytes) in &chunks {
                let (stream, all) = if *to_out { (Stream::Stdout, &mut out) } else { (Stream::Stderr, &mut err) };
                all.extend_from_slice(bytes);
                writer.append(FrameKind::Output(stream), bytes).unwrap();
            }
            let len = extent.borrow().len;
            let mut seen = view(&path, Cursor::START, len, &flushes);
            prop_assert_eq!(&joined(&seen, Stream::Stdout), &out);
            prop_assert_eq!(&joined(&seen, Stream::Stderr), &err);

            seen.truncate(cut.index(seen.len()) + 1);
            let cursor = seen.last().unwrap().2;
            seen.extend(view(&path, cursor, len, &again));
            prop_assert_eq!(joined(&seen, Stream::Stdout), out);
            prop_assert_eq!(joined(&seen, Stream::Stderr), err);
        }
    }

    #[test]
    fn text_is_not_cut_inside_a_character() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("journal");
        let (mut writer, extent) = Writer::create(&path).unwrap();
        let text = "日".repeat(60_000).into_bytes();
        for part in text.chunks(MAX_OUTPUT) {
            writer
                .append(FrameKind::Output(Stream::Stdout), part)
                .unwrap();
        }
        let len = extent.borrow().len;
        let seen = view(&path, Cursor::START, len, &[false]);
        assert!(seen.iter().all(|s| std::str::from_utf8(&s.1).is_ok()));
    }
}
