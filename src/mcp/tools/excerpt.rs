//! As much of a file as fits into an answer: whole lines of a text, or bytes. Where it goes on is a byte of the
//! file, so that nothing is lost, however long a line is.

use base64::Engine;
use schemars::JsonSchema;
use serde::Serialize;

use crate::mcp::cursor;
use branchyard_model::Problem;

/// What is not text and has more bytes is only told of, until its bytes are asked for.
const SMALL: usize = 3_000;

/// Bytes of a file that are to be shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExcerptSource<'a> {
    pub(super) bytes: &'a [u8],
    /// Where in the file they begin.
    pub(super) start_byte: u64,
    /// The line that they begin in; not of files whose lines are not counted.
    pub(super) first_line: Option<usize>,
    /// There are bytes after these, as far as they were asked for.
    pub(super) more: bool,
    /// What is not UTF-8 is wanted in base64, not replaced or left out.
    pub(super) exact: bool,
}

/// What is shown of them.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(super) struct Excerpt {
    encoding: Encoding,
    /// The lines; nothing of a binary file.
    text: String,
    /// The bytes of a binary file, if it is small or they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
    /// The line that this begins in.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<usize>,
    /// The last line that ends here; less than start_line if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<usize>,
    start_byte: u64,
    /// The byte after the last one shown.
    end_byte: u64,
    /// Not all that was asked for is here.
    truncated: bool,
    /// Where to go on.
    next_cursor: Option<String>,
}

/// `lossy`: what is no UTF-8 was replaced. `binary`: it is no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[serde(rename = "utf-8")]
    Utf8,
    Lossy,
    Binary,
}

/// Where to go on, and how: `b` stands before a byte from which bytes are wanted as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ByteCursor {
    pub(super) byte: u64,
    pub(super) exact: bool,
}

impl ByteCursor {
    pub(super) fn read(text: &str) -> Result<Self, Problem> {
        let (digits, exact) = match text.strip_prefix('b') {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let byte = digits.parse().map_err(|_| cursor::unknown(text))?;
        Ok(Self { byte, exact })
    }

    fn write(self) -> String {
        let mark = if self.exact { "b" } else { "" };
        format!("{mark}{}", self.byte)
    }
}

impl ExcerptSource<'_> {
    /// What to show of them if it may have `most` bytes.
    pub(super) fn excerpt(&self, most: usize) -> Excerpt {
        match std::str::from_utf8(self.bytes) {
            Ok(text) if !text.contains('\0') => {
                let shown = &text[..end_of_head(text.as_bytes(), most)];
                self.shown(Encoding::Utf8, shown.to_owned(), None, shown.len())
            }
            Err(_) if !self.exact && !self.bytes.contains(&0) => {
                let shown = &self.bytes[..end_of_head(self.bytes, most)];
                let text = String::from_utf8_lossy(shown).into_owned();
                self.shown(Encoding::Lossy, text, None, shown.len())
            }
            _ if self.exact || (self.bytes.len() <= SMALL.min(most) && !self.more) => {
                let shown = &self.bytes[..most.min(self.bytes.len())];
                let base64 = base64::engine::general_purpose::STANDARD.encode(shown);
                let text = String::new();
                self.shown(Encoding::Binary, text, Some(base64), shown.len())
            }
            _ => {
                let mut nothing = self.shown(Encoding::Binary, String::new(), None, 0);
                let (byte, exact) = (self.start_byte, true);
                nothing.next_cursor = Some(ByteCursor { byte, exact }.write());
                nothing
            }
        }
    }

    fn shown(
        &self,
        encoding: Encoding,
        text: String,
        base64: Option<String>,
        length: usize,
    ) -> Excerpt {
        let truncated = self.more || length < self.bytes.len();
        let end_byte = self.start_byte + length as u64;
        let bytes = &self.bytes[..length];
        let end_line = self.first_line.map(|first| {
            let ends_open = !truncated && bytes.last().is_some_and(|last| *last != b'\n');
            let ended = memchr::memchr_iter(b'\n', bytes).count() + usize::from(ends_open);
            (first + ended).saturating_sub(1)
        });
        let next = ByteCursor {
            byte: end_byte,
            exact: self.exact,
        };
        Excerpt {
            encoding,
            text,
            base64,
            start_line: self.first_line,
            end_line,
            start_byte: self.start_byte,
            end_byte,
            truncated,
            next_cursor: truncated.then(|| next.write()),
        }
    }
}

impl Excerpt {
    /// Where to go on, if this is not all that was asked for.
    pub(super) fn next_cursor(&self) -> Option<&str> {
        self.next_cursor.as_deref()
    }

    /// The words for the text copy; bytes in base64 are in it where there is no other copy.
    pub(super) fn told(&self, is_only_copy: bool) -> String {
        let mut told = match (self.encoding, &self.base64) {
            (Encoding::Utf8 | Encoding::Lossy, _) => self.text.clone(),
            (Encoding::Binary, Some(base64)) if is_only_copy => base64.clone(),
            (Encoding::Binary, Some(_)) => "(a binary file, in base64)".to_owned(),
            (Encoding::Binary, None) => "(a binary file; the cursor reads its bytes)".to_owned(),
        };
        let Some(cursor) = &self.next_cursor else {
            return told;
        };
        if !told.ends_with('\n') {
            told.push('\n');
        }
        let place = match (self.start_line, self.end_line) {
            (Some(first), Some(last)) if first <= last => format!("lines {first} to {last}"),
            _ => format!("bytes {} to {}", self.start_byte, self.end_byte),
        };
        told.push_str(&format!("({place}; cut; more with cursor {cursor:?})"));
        told
    }
}

/// Where to end if at most `most` bytes are to be shown: behind a line, or else between two characters, and
/// never before the first one ends.
fn end_of_head(bytes: &[u8], most: usize) -> usize {
    if bytes.len() <= most {
        return bytes.len();
    }
    if let Some(newline) = memchr::memrchr(b'\n', &bytes[..most]) {
        return newline + 1;
    }
    // No byte that goes on a character of UTF-8.
    let begins = |at: &usize| bytes[*at] & 0xc0 != 0x80;
    let before = (1..=most).rev().find(begins);
    let after = || (most + 1..bytes.len()).find(begins);
    before.or_else(after).unwrap_or(bytes.len())
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    fn source(bytes: &[u8], exact: bool) -> ExcerptSource<'_> {
        ExcerptSource {
            bytes,
            start_byte: 0,
            first_line: Some(1),
            more: false,
            exact,
        }
    }

    #[test]
    fn a_text_ends_with_a_line_and_goes_on_within_one_that_is_too_long() {
        let text = "one\ntwo\n".repeat(3) + &"é".repeat(50);
        let first = source(text.as_bytes(), false).excerpt(10);
        assert_eq!(
            (first.text.as_str(), first.end_line),
            ("one\ntwo\n", Some(2))
        );
        assert_eq!(first.next_cursor.as_deref(), Some("8"));
        let long = source(&text.as_bytes()[24..], false).excerpt(9);
        assert_eq!(long.text, "éééé");
        assert_eq!((long.start_line, long.end_line), (Some(1), Some(0)));
    }

    #[test]
    fn a_large_binary_file_is_told_of_and_its_bytes_are_to_be_had() {
        let bytes = [0; 5_000];
        let told = source(&bytes, false).excerpt(9_000);
        assert!(told.base64.is_none() && told.truncated);
        let cursor = ByteCursor::read(&told.next_cursor.unwrap()).unwrap();
        assert_eq!((cursor.byte, cursor.exact), (0, true));
        let read = source(&bytes, true).excerpt(4_000);
        assert_eq!(
            STANDARD.decode(read.base64.unwrap()).unwrap(),
            &bytes[..4_000]
        );
        assert_eq!(read.next_cursor.as_deref(), Some("b4000"));
    }

    proptest! {
        #[test]
        fn exact_parts_make_up_the_file(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>(), Just(b'a')], 0..200),
            most in 1usize..40,
        ) {
            let mut whole = Vec::new();
            loop {
                let rest = ExcerptSource { start_byte: whole.len() as u64, ..source(&bytes[whole.len()..], true) };
                let part = rest.excerpt(most);
                match &part.base64 {
                    Some(base64) => whole.extend(STANDARD.decode(base64).unwrap()),
                    None => whole.extend_from_slice(part.text.as_bytes()),
                }
                prop_assert_eq!(part.end_byte, whole.len() as u64);
                if part.next_cursor.is_none() {
                    break;
                }
            }
            prop_assert_eq!(whole, bytes);
        }
    }
}
