//! Terminal escapes taken out of output, bytes as they come. (The crates for it decode to text first
//! and drop tabs, returns and whatever is not UTF-8.)

use std::ops::Range;

use bytes::BufMut;

/// Takes escape sequences out of bytes that come in pieces. All else stays as it is, and so does every
/// newline: it ends any sequence, so that lines keep their numbers and a sequence that is never ended
/// swallows no more than its line.
#[derive(Debug, Default, Clone)]
pub struct AnsiFilter {
    state: AnsiState,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum AnsiState {
    #[default]
    Text,
    /// After ESC, and what may stand between it and its last byte.
    Escape,
    /// ESC `[`, up to a byte from `@` to `~`.
    Control,
    /// ESC `]` and its like, up to BEL or ESC `\`.
    String,
    /// An ESC within a string.
    StringEscape,
}

pub const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

impl AnsiFilter {
    /// Adds to `out` what is left of `bytes`.
    pub fn pass(&mut self, bytes: &[u8], out: &mut impl BufMut) {
        self.each_visible(bytes, |range| out.put_slice(&bytes[range]));
    }

    /// Tells `visible` which parts of `bytes` are left, in order. None of them is empty.
    pub fn each_visible(&mut self, bytes: &[u8], mut visible: impl FnMut(Range<usize>)) {
        let mut at = 0;
        while at < bytes.len() {
            if self.state == AnsiState::Text {
                let text = memchr::memchr(ESC, &bytes[at..]).unwrap_or(bytes.len() - at);
                if text > 0 {
                    visible(at..at + text);
                }
                at += text;
                if at < bytes.len() {
                    self.state = AnsiState::Escape;
                    at += 1;
                }
            } else {
                let (next, kept) = step(self.state, bytes[at]);
                self.state = next;
                if kept {
                    visible(at..at + 1);
                }
                at += 1;
            }
        }
    }

    /// Whether the next byte is no part of a sequence that has begun.
    pub fn is_in_text(&self) -> bool {
        self.state == AnsiState::Text
    }
}

/// What follows on a byte within a sequence, and whether the byte stays.
fn step(state: AnsiState, byte: u8) -> (AnsiState, bool) {
    match (state, byte) {
        (_, b'\n') => (AnsiState::Text, true),
        (AnsiState::String, BEL) | (AnsiState::StringEscape, b'\\') => (AnsiState::Text, false),
        (AnsiState::String, ESC) => (AnsiState::StringEscape, false),
        (AnsiState::String, _) => (AnsiState::String, false),
        (_, ESC) => (AnsiState::Escape, false),
        (AnsiState::Escape | AnsiState::StringEscape, b'[') => (AnsiState::Control, false),
        (AnsiState::Escape | AnsiState::StringEscape, b']' | b'P' | b'X' | b'^' | b'_') => {
            (AnsiState::String, false)
        }
        (AnsiState::Control, 0x20..=0x3f) => (AnsiState::Control, false),
        (_, 0x20..=0x2f) => (AnsiState::Escape, false),
        (_, 0x30..=0x7e) => (AnsiState::Text, false),
        // No byte of a sequence: it was none, or was cut off.
        _ => (AnsiState::Text, true),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stripped(pieces: &[&[u8]]) -> Vec<u8> {
        let (mut filter, mut out) = (AnsiFilter::default(), Vec::new());
        for piece in pieces {
            filter.pass(piece, &mut out);
        }
        out
    }

    #[test]
    fn escapes_go_and_all_else_stays() {
        for (with, without) in [
            (&b"\x1b[31mred\x1b[0m\ttab\r\n"[..], &b"red\ttab\r\n"[..]),
            (b"\x1b[38;5;196mx\x1b[K\x1b[2J\x1b[?25ly", b"xy"),
            (
                b"a\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\b\x1b]0;title\x07c",
                b"alinkbc",
            ),
            (b"\x1b(Bx\x1b=y\x1b7z\x1bMw", b"xyzw"),
            (b"\x1bP1$r0m\x1b\\after", b"after"),
            (b"\xff\xfe\0 \xc3\x9b[31m", b"\xff\xfe\0 \xc3\x9b[31m"),
            (
                b"never ended \x1b]0;title\nnext line\n",
                b"never ended \nnext line\n",
            ),
            (b"cut off \x1b[31\nnext\x1b", b"cut off \nnext"),
            (b"\x1b\x1b[1mx", b"x"),
            (b"\x1b]0;a\x1b[1mx", b"x"),
            (b"\x1b\xc3\xa9", b"\xc3\xa9"),
            (b"plain [31m", b"plain [31m"),
        ] {
            let text = String::from_utf8_lossy(with);
            assert_eq!(stripped(&[with]), without, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(text in "[\x1b\\[\\]0-9;mx\n\x07\\\\ ]{0,60}", cut in any::<prop::sample::Index>()) {
            let bytes = text.as_bytes();
            let at = cut.index(bytes.len() + 1);
            let whole = stripped(&[bytes]);
            prop_assert_eq!(&stripped(&[&bytes[..at], &bytes[at..]]), &whole);
            let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
            prop_assert_eq!(lines(&whole), lines(bytes));
            prop_assert!(!whole.contains(&ESC));
        }
    }
}
