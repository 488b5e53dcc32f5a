//! `::add-mask::VALUE`, a line by which a command says that a value is secret from now on. The line itself is shown without
//! the value, and the value is kept in a file for the commands after it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

const COMMAND: &[u8] = b"::add-mask::";
/// A longer line is none that masks something.
const MAX_LINE: usize = 64 << 10;

/// Looks for such lines in one stream.
#[derive(Debug, Default)]
pub(crate) struct MaskFinder {
    /// The beginning of a line that may become one.
    held: Vec<u8>,
    is_within_line: bool,
}

impl MaskFinder {
    /// Appends to `out` what of `bytes` can be looked through for secrets now. Returns the values that were found.
    pub(crate) fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Vec<String> {
        let mut found = Vec::new();
        let mut text = std::mem::take(&mut self.held);
        text.extend_from_slice(bytes);
        let mut at = 0;
        while at < text.len() {
            let end = memchr::memchr(b'\n', &text[at..]).map(|length| at + length + 1);
            let line = &text[at..end.unwrap_or(text.len())];
            if self.is_within_line {
                out.extend_from_slice(line);
                self.is_within_line = end.is_none();
            } else if end.is_none() && is_beginning(line) && line.len() < MAX_LINE {
                self.held = line.to_vec();
            } else if let Some(value) = masked(line) {
                out.extend_from_slice(COMMAND);
                out.extend_from_slice(super::redact::REDACTED.as_bytes());
                out.push(b'\n');
                found.push(value);
            } else {
                out.extend_from_slice(line);
                self.is_within_line = end.is_none();
            }
            at = end.unwrap_or(text.len());
        }
        found
    }

    /// The stream has ended, or pauses: a line without an end is none that masks something.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        match masked(&held) {
            // It was cut off, and shows nothing of the value.
            Some(_) => COMMAND.to_vec(),
            None => held,
        }
    }
}

/// Whether this is how such a line begins.
fn is_beginning(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    COMMAND.starts_with(line) || line.starts_with(COMMAND)
}

fn masked(line: &[u8]) -> Option<String> {
    let value = line.trim_ascii_start().strip_prefix(COMMAND)?;
    let value = String::from_utf8_lossy(value.trim_ascii_end());
    let value = value
        .replace("%0D", "\r")
        .replace("%0A", "\n")
        .replace("%25", "%");
    (!value.is_empty()).then_some(value)
}

/// Adds a value to those that are kept, for the commands after this one.
pub(crate) fn keep(file: &Path, value: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.create(true).append(true).mode(0o600).open(file)?;
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)
}

/// The values that earlier commands masked; none where there is no such file.
pub fn kept_masks(file: &Path) -> io::Result<Vec<String>> {
    let text = branchyard_runtime::disk::if_there(std::fs::read_to_string(file))?;
    let text = text.unwrap_or_default();
    // A line that was cut off is what a supervisor that was killed left.
    Ok(text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(pieces: &[&str]) -> (String, Vec<String>) {
        let (mut finder, mut out, mut found) = (MaskFinder::default(), Vec::new(), Vec::new());
        for piece in pieces {
            found.extend(finder.feed(piece.as_bytes(), &mut out));
        }
        out.extend(finder.finish());
        (String::from_utf8(out).unwrap(), found)
    }

    #[test]
    fn lines_that_mask_are_found_wherever_they_are_cut() {
        let text = "a\n::add-mask::hunter22\nb ::add-mask::no\n  ::add-mask::x%0Ay\nend";
        let expected = "a\n::add-mask::***\nb ::add-mask::no\n::add-mask::***\nend";
        let values = ["hunter22".to_owned(), "x\ny".to_owned()];
        for cut in 0..text.len() {
            let (out, found) = fed(&[&text[..cut], &text[cut..]]);
            assert_eq!((out.as_str(), &found[..]), (expected, &values[..]), "{cut}");
        }
        let bytes: Vec<_> = text.split("").collect();
        assert_eq!(fed(&bytes), (expected.to_owned(), values.to_vec()));
    }

    #[test]
    fn other_text_passes() {
        for text in [
            "",
            "\n",
            ":",
            "::",
            "::add-mas",
            "::error::x\n",
            "::add-mask::\n",
            "a\nb",
        ] {
            assert_eq!(fed(&[text]), (text.to_owned(), Vec::new()), "{text:?}");
        }
        assert_eq!(fed(&["::add-mask::secret"]).0, "::add-mask::");
    }

    #[test]
    fn values_are_kept_for_others() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("masks");
        assert_eq!(kept_masks(&file).unwrap(), Vec::<String>::new());
        keep(&file, "one\ntwo").unwrap();
        keep(&file, "three").unwrap();
        assert_eq!(kept_masks(&file).unwrap(), ["one\ntwo", "three"]);
    }
}
