//! Events as bytes, written straight into the piece that goes out. What a build prints is mostly short
//! lines of plain text, by the thousand: those are copied, and what is said of each is written once for
//! all of them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

use super::head::Head;
use crate::http::negotiate::Format;
use branchyard_journal::{CHUNK, Cursor, Eol, Frame, Stream};

/// A line of this length is copied as if it had it, which is quicker than to look how long it is.
const SHORT: usize = 32;
/// So much is looked at together for bytes that need care.
const LANES: usize = 32;
/// Below that a frame is not worth making room for a whole piece.
const FEW: usize = CHUNK / 16;

#[derive(Debug)]
pub(super) struct Encoder {
    sse: bool,
    piece: Vec<u8>,
}

impl Encoder {
    pub(super) fn new(format: Format) -> Self {
        Self {
            sse: format == Format::Sse,
            piece: Vec::new(),
        }
    }

    pub(super) fn is_sse(&self) -> bool {
        self.sse
    }

    pub(super) fn len(&self) -> usize {
        self.piece.len()
    }

    pub(super) fn is_full(&self) -> bool {
        self.piece.len() >= CHUNK
    }

    /// All of the memory goes with the piece: a viewer that waits holds none.
    pub(super) fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.piece).into()
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        self.piece.extend_from_slice(bytes);
    }

    /// Whole lines of an output frame, from `from` on, for as long as there is room. The last line is left
    /// where it ends with the frame, for the cursor after it is the next frame's. Returns where it stopped.
    pub(super) fn lines(&mut self, frame: &Frame<'_>, stream: Stream, from: usize) -> usize {
        let payload = frame.payload;
        if payload.len() - from > FEW {
            let room = (CHUNK + 2 * Head::SIZE).saturating_sub(self.piece.len());
            self.piece.reserve(room);
        }
        let mut head = Head::new(self.sse, frame.start, stream);
        let (mut at, mut plain_to) = (from, from);
        for newline in memchr::memchr_iter(b'\n', &payload[from..]) {
            let (end, next) = (from + newline, from + newline + 1);
            if next == payload.len() || self.is_full() {
                break;
            }
            let (before, used) = head.at(next);
            let start = self.piece.len();
            self.piece.extend_from_slice(before);
            self.piece.truncate(start + used);
            if plain_to < end {
                plain_to = at.max(plain_to);
                plain_to += find(&payload[plain_to..], |byte| !is_plain(byte));
            }
            match end <= plain_to {
                true => self.plain_line(&payload[at..], end - at),
                false => {
                    // What comes before the line's text is there already, if it is text.
                    self.piece.truncate(start + used - Head::BEFORE_TEXT.len());
                    let (line, eol) = Eol::of(&payload[at..end]);
                    self.line(line, eol);
                    self.end();
                    plain_to = next;
                }
            }
            at = next;
        }
        at
    }

    /// The first `length` bytes of `rest`, which need no care, and the end of their event.
    fn plain_line(&mut self, rest: &[u8], length: usize) {
        match rest.first_chunk::<SHORT>() {
            Some(chunk) if length <= SHORT => {
                let end = self.piece.len() + length;
                self.piece.extend_from_slice(chunk);
                self.piece.truncate(end);
            }
            _ => self.piece.extend_from_slice(&rest[..length]),
        }
        self.piece.extend_from_slice(b"\"}\n\n");
        if !self.sse {
            self.piece.pop();
        }
    }

    /// Everything up to and including the object's opening brace; NDJSON carries the id inside.
    pub(super) fn open(&mut self, cursor: Cursor, kind: &str) {
        self.put(if self.sse { b"id: " } else { b"{\"id\":\"" });
        self.number(cursor.frame);
        if cursor.within > 0 {
            self.put(b".");
            self.number(cursor.within.into());
        }
        if self.sse {
            self.put(b"\nevent: ");
            self.put(kind.as_bytes());
            self.put(b"\ndata: {");
        } else {
            self.put(b"\",");
        }
    }

    /// An output event, from its type to its closing brace.
    pub(super) fn output(&mut self, stream: Stream, bytes: &[u8], eol: Eol) {
        self.put(b"\"type\":\"");
        self.put(stream.as_str().as_bytes());
        self.line(bytes, eol);
    }

    pub(super) fn end(&mut self) {
        self.put(if self.sse { b"\n\n" } else { b"\n" });
    }

    /// From after the type to the closing brace.
    fn line(&mut self, bytes: &[u8], eol: Eol) {
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                self.put(Head::BEFORE_TEXT);
                self.escaped(text);
            }
            Err(_) => {
                self.put(b"\",\"b64\":\"");
                self.put(STANDARD.encode(bytes).as_bytes());
            }
        }
        self.put(match eol {
            Eol::Lf => b"\"}".as_slice(),
            Eol::CrLf => b"\",\"eol\":\"\\r\\n\"}",
            Eol::None => b"\",\"eol\":\"\"}",
        });
    }

    /// The inside of a JSON string.
    fn escaped(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        loop {
            let (plain, special) = rest.split_at(find(rest, is_escaped));
            self.put(plain);
            let Some((byte, after)) = special.split_first() else {
                return;
            };
            match byte {
                b'"' => self.put(b"\\\""),
                b'\\' => self.put(b"\\\\"),
                b'\n' => self.put(b"\\n"),
                b'\r' => self.put(b"\\r"),
                b'\t' => self.put(b"\\t"),
                0x08 => self.put(b"\\b"),
                0x0c => self.put(b"\\f"),
                control => {
                    let [high, low] =
                        [control >> 4, control & 15].map(|digit| HEX[usize::from(digit)]);
                    self.put(&[b'\\', b'u', b'0', b'0', high, low]);
                }
            }
            rest = after;
        }
    }

    fn number(&mut self, number: u64) {
        let start = self.piece.len();
        let mut rest = number;
        loop {
            self.piece.push(b'0' + (rest % 10) as u8);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        self.piece[start..].reverse();
    }
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// What JSON wants escaped in a string.
fn is_escaped(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// What is text by itself, and the same in JSON; and the ends of lines, which are found by others.
fn is_plain(byte: u8) -> bool {
    byte == b'\n' || byte < 0x80 && !is_escaped(byte)
}

/// Where the first such byte is, or else the end.
fn find(bytes: &[u8], is_wanted: impl Fn(u8) -> bool) -> usize {
    let (chunks, _) = bytes.as_chunks::<LANES>();
    // A question to all of a chunk is one that the processor answers at once.
    let without = chunks
        .iter()
        .take_while(|chunk| !chunk.iter().fold(false, |any, byte| any | is_wanted(*byte)))
        .count();
    let rest = &bytes[without * LANES..];
    let within = rest.iter().position(|byte| is_wanted(*byte));
    without * LANES + within.unwrap_or(rest.len())
}
