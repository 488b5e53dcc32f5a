//! Bytes of a build or a remote on their way to a terminal. There they could set its title, write its clipboard
//! (OSC 52), make it answer or hide text: only text, colours and what erases the current line get through. Into a pipe or
//! a file every byte goes as it came, and this is not asked.

use super::render::printable;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
/// A sequence with more parameters than this is no colour.
const LONGEST: usize = 64;

/// What gets through of bytes that come in pieces.
#[derive(Debug, Default)]
pub(super) struct TerminalFilter {
    state: FilterState,
    /// The start of a sequence or character that the next byte decides about.
    held: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum FilterState {
    #[default]
    Text,
    /// Within a character of several bytes.
    Character,
    /// After ESC, and what may stand between it and its last byte.
    Escape,
    /// ESC `[`, up to a byte from `@` to `~`.
    Control,
    /// ESC `]` and its like, up to BEL or ESC `\`.
    String,
    /// An ESC within a string.
    StringEscape,
}

impl TerminalFilter {
    /// What a terminal may be sent of `bytes`.
    pub(super) fn pass(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        for byte in bytes {
            self.step(*byte, &mut out);
        }
        out
    }

    fn step(&mut self, byte: u8, out: &mut Vec<u8>) {
        match self.state {
            FilterState::Text => self.text(byte, out),
            FilterState::Character => self.character(byte, out),
            // A newline ends any sequence: one that is never ended hides no more than its line.
            _ if byte == b'\n' => {
                self.begin(FilterState::Text);
                out.push(byte);
            }
            FilterState::Escape => self.escape(byte, out),
            FilterState::Control => self.control(byte, out),
            FilterState::String => match byte {
                BEL => self.begin(FilterState::Text),
                ESC => self.begin(FilterState::StringEscape),
                _ => {}
            },
            FilterState::StringEscape if byte == b'\\' => self.begin(FilterState::Text),
            FilterState::StringEscape => self.escape(byte, out),
        }
    }

    fn begin(&mut self, state: FilterState) {
        self.state = state;
        self.held.clear();
    }

    fn text(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            ESC => self.begin(FilterState::Escape),
            b'\n' | b'\r' | b'\t' | 0x08 => out.push(byte),
            // Bells, other character sets, questions to the terminal.
            0x00..=0x1f | 0x7f => {}
            // C1 controls, where a terminal reads bytes and not UTF-8.
            0x80..=0x9f => {}
            0xc2..=0xf4 => {
                self.begin(FilterState::Character);
                self.held.push(byte);
            }
            _ => out.push(byte),
        }
    }

    fn character(&mut self, byte: u8, out: &mut Vec<u8>) {
        let continues = (0x80..=0xbf).contains(&byte);
        if continues {
            self.held.push(byte);
            let needed = match self.held[0] {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                _ => 4,
            };
            if self.held.len() < needed {
                return;
            }
        }
        let held = std::mem::take(&mut self.held);
        self.state = FilterState::Text;
        match std::str::from_utf8(&held) {
            Ok(character) => out.extend_from_slice(printable(character).as_bytes()),
            // It is none: the bytes go one by one, as far as no byte is a control by itself.
            Err(_) => out.extend(held.iter().filter(|byte| !(0x80..=0x9f).contains(*byte))),
        }
        if !continues {
            self.text(byte, out);
        }
    }

    fn escape(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            b'[' => self.begin(FilterState::Control),
            b']' | b'P' | b'X' | b'^' | b'_' => self.begin(FilterState::String),
            ESC | 0x20..=0x2f => self.begin(FilterState::Escape),
            0x30..=0x7e => self.begin(FilterState::Text),
            // No byte of a sequence: it was none, or was cut off.
            _ => {
                self.begin(FilterState::Text);
                self.text(byte, out);
            }
        }
    }

    fn control(&mut self, byte: u8, out: &mut Vec<u8>) {
        match byte {
            0x20..=0x3f => {
                if self.held.len() < LONGEST {
                    self.held.push(byte);
                }
            }
            0x40..=0x7e => {
                let is_plain = |also: &[u8]| {
                    let mut held = self.held.iter();
                    held.all(|byte| byte.is_ascii_digit() || also.contains(byte))
                };
                let is_harmless = match byte {
                    b'm' => is_plain(b";:"),
                    b'K' => is_plain(b""),
                    _ => false,
                };
                if is_harmless && self.held.len() < LONGEST {
                    out.extend_from_slice(b"\x1b[");
                    out.extend_from_slice(&self.held);
                    out.push(byte);
                }
                self.begin(FilterState::Text);
            }
            ESC => self.begin(FilterState::Escape),
            _ => {
                self.begin(FilterState::Text);
                self.text(byte, out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn passed(bytes: &[u8]) -> String {
        String::from_utf8_lossy(&TerminalFilter::default().pass(bytes)).into_owned()
    }

    #[test]
    fn text_and_colours_get_through() {
        for text in [
            "plain\ttabs\r\nü 日本語 €‰… ⁂ 🎉 \u{a0}",
            "\x1b[31mred\x1b[0m \x1b[m \x1b[1;38;5;196mx\x1b[38:2::1:2:3my\x1b[0K\r50 %\x1b[K",
        ] {
            assert_eq!(passed(text.as_bytes()), text);
        }
        assert_eq!(
            TerminalFilter::default().pass(b"latin \xe9t\xe9 "),
            b"latin \xe9t\xe9 "
        );
    }

    #[test]
    fn what_does_something_to_a_terminal_does_not() {
        for (hostile, left) in [
            // Clipboard, titles, links, colours of the palette, files.
            ("a\x1b]52;c;ZXZpbA==\x07b", "ab"),
            ("a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"),
            ("a\x1b]0;title\x07b\x1b]2;t\x07", "ab"),
            ("\x1b]8;;http://x/\x1b\\link\x1b]8;;\x1b\\", "link"),
            (
                "\x1bP$q\"p\x1b\\a\x1b_x\x1b\\b\x1b^y\x1b\\c\x1bXz\x1b\\d",
                "abcd",
            ),
            // Never ended.
            ("a\x1b]52;c;ZXZp\nnext", "a\nnext"),
            ("a\x1b[31\nnext", "a\nnext"),
            // Moves, erases, other screens, modes, questions, reports.
            (
                "a\x1b[2J\x1b[H\x1b[1A\x1b[?1049h\x1b[?25l\x1b[6n\x1b[c\x1b[5nb",
                "ab",
            ),
            ("a\x1b[>4;1m\x1b[?1mb", "ab"),
            ("a\x1b[ m\x1b[1$mb", "ab"),
            ("a\x1bc\x1b7\x1b8\x1b(0\x1b#8\x1bZb", "ab"),
            // One within the other.
            ("\x1b\x1b]0;t\x07x", "x"),
            ("\x1b[\x1b]0;t\x07x", "x"),
            ("\x1b]0;\x1b[31mx", "\x1b[31mx"),
            // Single bytes.
            ("a\x07\x05\x0e\x0f\x0b\x0c\x00\x7f\x11\x13b", "ab"),
            // The same controls as characters, and text that runs backwards.
            (
                "a\u{9b}2J\u{9d}52;c;x\u{9c}",
                "a\\u{9b}2J\\u{9d}52;c;x\\u{9c}",
            ),
            ("\u{90}\u{85}", "\\u{90}\\u{85}"),
            ("a\u{202e}b\u{2066}c", "a\\u{202e}b\\u{2066}c"),
        ] {
            assert_eq!(passed(hostile.as_bytes()), left, "{hostile:?}");
        }
        let bytes = b"a\x9b2J\x9d52;c;x\x9c \xe2\x9bx \xf0\x9d";
        assert_eq!(TerminalFilter::default().pass(bytes), b"a2J52;c;x \xe2x ");
        let long = format!("a\x1b[{}mb", "1;".repeat(LONGEST));
        assert_eq!(passed(long.as_bytes()), "ab");
    }

    /// What the terminal may be sent, judged apart from how the filter works.
    fn is_harmless(out: &[u8]) -> bool {
        let text = String::from_utf8_lossy(out);
        let mut rest = text.as_ref();
        while let Some(at) = rest.find('\x1b') {
            let Some(after) = rest[at..].strip_prefix("\x1b[") else {
                return false;
            };
            let end = after.find(|c: char| !c.is_ascii_digit() && !";:".contains(c));
            match end.and_then(|end| after[end..].chars().next()) {
                Some('m' | 'K') => rest = &after[end.unwrap_or(0)..],
                _ => return false,
            }
        }
        let is_bad = |c: char| c.is_control() && !"\n\r\t\x08\x1b".contains(c);
        !text.contains(is_bad) && !text.contains(['\u{202e}', '\u{2066}'])
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference_and_nothing_harmful_is_left(
            text in "[\x1b\\[\\]PX0-9;:?mKJxy\n\x07\x08\\\\ \u{9b}\u{9d}\u{202e}\u{2066}é€]{0,60}",
            cut in any::<prop::sample::Index>(),
        ) {
            let bytes = text.as_bytes();
            let at = cut.index(bytes.len() + 1);
            let whole = TerminalFilter::default().pass(bytes);
            let mut filter = TerminalFilter::default();
            let mut pieces = filter.pass(&bytes[..at]);
            pieces.extend(filter.pass(&bytes[at..]));
            prop_assert_eq!(&pieces, &whole);
            prop_assert!(is_harmless(&whole), "{:?}", String::from_utf8_lossy(&whole));
            let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
            prop_assert_eq!(lines(&whole), lines(bytes));
        }

        #[test]
        fn any_bytes_are_harmless(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let out = TerminalFilter::default().pass(&bytes);
            prop_assert!(is_harmless(&out));
            // Nor does a terminal that knows no UTF-8 find a C1 control outside of a character.
            for piece in out.utf8_chunks() {
                prop_assert!(!piece.invalid().iter().any(|byte| (0x80..=0x9f).contains(byte)));
            }
        }
    }
}
