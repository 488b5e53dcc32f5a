//! Text from a report, as much of it as is kept and without what a terminal would not show.

use std::borrow::Cow;

use branchyard_runtime::ansi::{AnsiFilter, ESC};

/// So many bytes of a name are kept.
const LONGEST_NAME: usize = 1024;
/// So many bytes of a message are kept.
pub(crate) const LONGEST_MESSAGE: usize = 4 * 1024;
/// A line of a log is cut after so many bytes.
const LONGEST_LINE: usize = 8 * 1024;
/// A line of JSON is worth nothing when it is cut: this is room for any event but long output.
const LONGEST_JSON: usize = 64 * 1024;

/// A name, or another text of one line.
pub(crate) fn name(text: &str) -> String {
    let text = without_escapes(cut(text, 2 * LONGEST_NAME));
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut shown: String = shown.collect();
    shown.truncate(cut(&shown, LONGEST_NAME).len());
    shown
}

/// The beginning of a text, at most so many bytes.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn without_escapes(text: &str) -> Cow<'_, str> {
    if memchr::memchr(ESC, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    AnsiFilter::default().pass(text.as_bytes(), &mut plain);
    // Only whole sequences of ASCII are taken out, so this is still UTF-8.
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}

/// What a terminal would show of a line in the end: no escapes, and of what was overwritten (`\r`) only the last.
pub(crate) fn line(bytes: &[u8]) -> Cow<'_, str> {
    let end = bytes
        .iter()
        .rposition(|byte| !matches!(byte, b'\r' | b'\n'))
        .map_or(0, |last| last + 1);
    let bytes = &bytes[..end];
    let bytes = memchr::memrchr(b'\r', bytes).map_or(bytes, |at| &bytes[at + 1..]);
    let most = match bytes.first() {
        Some(b'{') => LONGEST_JSON,
        _ => LONGEST_LINE,
    };
    let bytes = &bytes[..bytes.len().min(most)];
    if memchr::memchr(ESC, bytes).is_none() {
        return String::from_utf8_lossy(bytes);
    }
    let mut plain = Vec::with_capacity(bytes.len());
    AnsiFilter::default().pass(bytes, &mut plain);
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}

/// A message that comes in pieces. What is too much is dropped.
#[derive(Debug, Default)]
pub(crate) struct MessageText {
    text: String,
}

impl MessageText {
    pub(crate) fn push(&mut self, text: &str) {
        // Escapes are taken out later, so there is room for some.
        let room = (2 * LONGEST_MESSAGE).saturating_sub(self.text.len());
        self.text.push_str(cut(text, room));
    }

    pub(crate) fn push_line(&mut self, line: &str) {
        self.push(line);
        self.push("\n");
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// `None` if there is nothing to read in it.
    pub(crate) fn finish(&self) -> Option<String> {
        let text = without_escapes(&self.text);
        let is_shown = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        let shown: String = text.chars().filter(is_shown).collect();
        let shown = trim_blank_lines(cut(&shown, LONGEST_MESSAGE));
        (!shown.is_empty()).then(|| shown.to_owned())
    }
}

/// The first line keeps its indentation: lines below it may have more.
fn trim_blank_lines(text: &str) -> &str {
    let text = text.trim_end();
    let blank = text.len() - text.trim_start().len();
    let first = text[..blank].rfind('\n').map_or(0, |at| at + 1);
    &text[first..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_what_a_terminal_shows_of_it() {
        for (bytes, shown) in [
            (&b"plain\r\n"[..], "plain"),
            (b"10%\r20%\rdone\r", "done"),
            (b"\x1b[31m  FAILED\x1b[0m x", "  FAILED x"),
            (b"caf\xe9", "caf\u{fffd}"),
            (b"\r", ""),
        ] {
            assert_eq!(line(bytes), shown);
        }
        assert_eq!(line(&[b'x'; 100_000]).len(), LONGEST_LINE);
        assert_eq!(line(&[b'{'; 100_000]).len(), LONGEST_JSON);
    }

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(name(&"ü".repeat(1000)).len(), 1024);
        assert_eq!(name(&"日".repeat(1000)).len(), 1023);
        assert_eq!(name("a\nb\x1b[1mc"), "a bc");
        let mut message = MessageText::default();
        for _ in 0..10_000 {
            message.push_line("日本");
        }
        assert!(message.finish().is_some_and(|text| text.len() <= 4096));
        assert!(message.text.len() <= 2 * LONGEST_MESSAGE);
    }

    #[test]
    fn a_message_has_no_blank_lines_around_it() {
        let mut message = MessageText::default();
        message.push("\n \n  one\n\x1b[31mtwo\x1b[0m\x07\n\n");
        assert_eq!(message.finish().as_deref(), Some("  one\ntwo"));
        assert_eq!(MessageText::default().finish(), None);
    }
}
