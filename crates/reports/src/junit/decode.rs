//! Bytes in any encoding into UTF-8, as well as it goes.

use std::io;

/// The declaration of the encoding stands in the first bytes.
const HEAD: usize = 256;

#[derive(Default)]
pub(super) struct Decoder {
    head: Vec<u8>,
    /// The beginning of a character that the last chunk cut.
    partial: Vec<u8>,
}

impl Decoder {
    /// Adds to `decoded` what the bytes say. No bytes are the end of the report.
    pub(super) fn decode(&mut self, bytes: &[u8], decoded: &mut String) -> io::Result<()> {
        let wanted = HEAD.saturating_sub(self.head.len());
        self.head.extend(bytes.iter().take(wanted));
        if self.head.starts_with(b"\xff\xfe") || self.head.starts_with(b"\xfe\xff") {
            let reason = "it is written in UTF-16, which is not read";
            return Err(io::Error::other(reason));
        }
        if self.partial.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            decoded.push_str(text);
            return Ok(());
        }
        let mut whole = std::mem::take(&mut self.partial);
        whole.extend_from_slice(bytes);
        let unknown = unknown_byte(&self.head);
        let mut chunks = whole.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            decoded.push_str(chunk.valid());
            let is_last = chunks.peek().is_none() && !bytes.is_empty();
            let invalid = chunk.invalid();
            let cut = std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            match is_last && cut {
                true => self.partial.extend_from_slice(invalid),
                false => decoded.extend(invalid.iter().copied().map(unknown)),
            }
        }
        Ok(())
    }
}

/// What a byte stands for that is no UTF-8. Most producers write UTF-8 whatever they declare; where one declares
/// something else, its other bytes are most likely Latin-1.
fn unknown_byte(head: &[u8]) -> fn(u8) -> char {
    let head = head.to_ascii_lowercase();
    let declared = memchr::memmem::find(&head, b"encoding=").and_then(|at| head.get(at + 10..));
    match declared {
        Some(name) if !name.starts_with(b"utf") => char::from,
        _ => |_| char::REPLACEMENT_CHARACTER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_chunks_cut_are_put_together() {
        for (bytes, expected) in [
            ("aü日😀".as_bytes(), "aü日😀"),
            (b"a\xff\xe6\x97", "a\u{fffd}\u{fffd}\u{fffd}"),
            (
                b"encoding='latin1' \xfc\xe6\x97",
                "encoding='latin1' üæ\u{97}",
            ),
        ] {
            for size in 1..=bytes.len() {
                let (mut decoder, mut decoded) = (Decoder::default(), String::new());
                for chunk in bytes.chunks(size).chain([&b""[..]]) {
                    decoder.decode(chunk, &mut decoded).expect("no UTF-16");
                }
                assert_eq!(decoded, expected, "in chunks of {size}");
            }
        }
    }
}
