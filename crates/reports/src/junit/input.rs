//! The bytes of a report, made fit for the XML reader: it takes UTF-8 only, and holds each text, attribute and comment
//! in memory as a whole. So what is not UTF-8 is decoded here, and what is too long is cut here.

use std::io::{self, BufRead, Read};

use super::decode::Decoder;

/// So many bytes of one text, attribute or comment reach the reader. It is more than a message keeps, as each
/// character of it may be written as a reference.
const LONGEST_RUN: usize = 64 * 1024;
/// A tag with more than this in it is refused.
const LONGEST_EVENT: usize = 1024 * 1024;
/// So many bytes are looked at in one go.
const CHUNK: usize = 16 * 1024;

pub(super) struct Input<R> {
    inner: R,
    /// What is ready for the reader, and how much of it was read.
    ready: Vec<u8>,
    read: usize,
    /// Where in the report `ready` begins, and how long it is there.
    start: u64,
    length: usize,
    event: usize,
    decoder: Decoder,
    decoded: String,
    markup: Markup,
}

impl<R: BufRead> Input<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            ready: Vec::new(),
            read: 0,
            start: 0,
            length: 0,
            event: 0,
            decoder: Decoder::default(),
            decoded: String::new(),
            markup: Markup::default(),
        }
    }

    /// The reader has let go of all it read so far.
    pub(super) fn begin_event(&mut self) {
        self.event = 0;
    }

    /// How far the reader came in the report.
    pub(super) fn position(&self) -> u64 {
        self.start + self.read.min(self.length) as u64
    }

    /// `false` at the end of the report.
    fn refill(&mut self) -> io::Result<bool> {
        self.start += self.length as u64;
        (self.length, self.read) = (0, 0);
        self.ready.clear();
        self.decoded.clear();
        let bytes = match self.inner.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(true),
            other => other?,
        };
        let bytes = &bytes[..bytes.len().min(CHUNK)];
        let is_end = bytes.is_empty();
        self.length = bytes.len();
        self.decoder.decode(bytes, &mut self.decoded)?;
        self.inner.consume(self.length);
        self.markup.pass(self.decoded.as_bytes(), &mut self.ready);
        Ok(!is_end)
    }
}

impl<R: BufRead> BufRead for Input<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.event > LONGEST_EVENT {
            return Err(io::Error::other("an element has a tag of more than 1 MiB"));
        }
        while self.read == self.ready.len() && self.refill()? {}
        Ok(&self.ready[self.read..])
    }

    fn consume(&mut self, count: usize) {
        self.read = (self.read + count).min(self.ready.len());
        self.event += count;
    }
}

impl<R: BufRead> Read for Input<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let count = ready.len().min(into.len());
        into[..count].copy_from_slice(&ready[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// Where in the markup a byte stands, as far as that tells how long something is.
enum Markup {
    /// Text, or a value, comment or section with nothing but text in it.
    Run(Run),
    /// After `<`: what came since.
    Opened(Vec<u8>),
    /// Between the attributes of a tag.
    Tag,
}

/// Bytes that end with `end`.
struct Run {
    end: &'static [u8],
    passed: usize,
    /// How much of `end` was just seen.
    matched: usize,
    is_cut: bool,
}

impl Default for Markup {
    fn default() -> Self {
        Self::run(b"<")
    }
}

impl Markup {
    fn run(end: &'static [u8]) -> Self {
        Self::Run(Run {
            end,
            passed: 0,
            matched: 0,
            is_cut: false,
        })
    }

    /// Adds to `out` what the reader may see of `bytes`.
    fn pass(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while let Some((byte, rest)) = bytes.split_first() {
            match self {
                Self::Run(run) => {
                    let (length, has_ended) = run.pass(bytes, out);
                    bytes = &bytes[length..];
                    if has_ended {
                        *self = match run.end {
                            b"<" => Self::Opened(Vec::new()),
                            b"\"" | b"'" => Self::Tag,
                            _ => Self::default(),
                        };
                    }
                }
                Self::Opened(name) => {
                    name.push(*byte);
                    if let Some(next) = opened(name) {
                        // The byte is a part of what it began.
                        *self = next;
                        if matches!(self, Self::Tag) {
                            continue;
                        }
                    }
                    out.push(*byte);
                    bytes = rest;
                }
                Self::Tag => {
                    let until = memchr::memchr3(b'"', b'\'', b'>', bytes).unwrap_or(bytes.len());
                    out.extend_from_slice(&bytes[..until]);
                    bytes = &bytes[until..];
                    let Some((byte, rest)) = bytes.split_first() else {
                        return;
                    };
                    out.push(*byte);
                    bytes = rest;
                    *self = match byte {
                        b'"' => Self::run(b"\""),
                        b'\'' => Self::run(b"'"),
                        _ => Self::default(),
                    };
                }
            }
        }
    }
}

/// What begins with these bytes after `<`; `None` if that is not clear yet.
fn opened(name: &[u8]) -> Option<Markup> {
    const SECTIONS: [(&[u8], &[u8]); 3] = [(b"!--", b"-->"), (b"![CDATA[", b"]]>"), (b"?", b"?>")];
    if let Some((_, end)) = SECTIONS.iter().find(|(start, _)| *start == name) {
        return Some(Markup::run(end));
    }
    let is_open = SECTIONS.iter().any(|(start, _)| start.starts_with(name));
    (!is_open).then_some(Markup::Tag)
}

impl Run {
    /// Takes bytes up to its end, or all. How many these were, and whether it has ended.
    fn pass(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> (usize, bool) {
        let mut at = 0;
        while at < bytes.len() {
            if self.matched == 0 {
                let text = &bytes[at..];
                let text = &text[..memchr::memchr(self.end[0], text).unwrap_or(text.len())];
                self.text(text, out);
                at += text.len();
                if at == bytes.len() {
                    break;
                }
            }
            let byte = bytes[at];
            at += 1;
            if byte == self.end[self.matched] {
                self.matched += 1;
                if self.matched == self.end.len() {
                    out.extend_from_slice(self.end);
                    return (at, true);
                }
            } else if byte == self.end[self.matched - 1] {
                // One more of a character that the end begins with: `]]]>`.
                self.text(&[byte], out);
            } else {
                let seen = self.matched;
                self.matched = 0;
                self.text(&self.end[..seen], out);
                self.text(&[byte], out);
            }
        }
        (at, false)
    }

    fn text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        let mut room = LONGEST_RUN.saturating_sub(self.passed);
        self.passed = self.passed.saturating_add(text.len());
        // A character that has begun is passed to its end: the reader takes whole ones only.
        if !self.is_cut {
            while text.get(room).is_some_and(|byte| byte & 0xc0 == 0x80) {
                room += 1;
            }
            out.extend_from_slice(&text[..text.len().min(room)]);
            self.is_cut = text.len() > room;
        }
    }
}
