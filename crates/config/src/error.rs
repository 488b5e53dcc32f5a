//! Why the daemon does not start: the source that is at fault, the place in it, and what was expected.

use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::known_variables::KNOWN;
use super::redact;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("failed to read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{0}")]
    InFile(Box<InFile>),
    /// A built-in default that does not work here.
    #[error("{key}: {message}")]
    Default { key: String, message: String },
    #[error("{name}: {message}")]
    Variable { name: &'static str, message: String },
    #[error(
        "unknown environment variable {}; known are {}",
        names.join(", "),
        KNOWN.map(|(name, _)| name).join(", ")
    )]
    UnknownVariables { names: Vec<String> },
    #[error("{flag}: {message}")]
    Flag { flag: &'static str, message: String },
    #[error("failed to make a session key: {0}")]
    Random(io::Error),
}

/// A fault at a place in the configuration file, shown as `file:line:column: message` and the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFile {
    pub path: PathBuf,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub message: String,
    /// The line and a mark under the fault, with secrets blanked out.
    snippet: String,
}

impl InFile {
    /// A message of a parser's, which may quote what should not be shown.
    pub(super) fn of_parser(path: &Path, text: &str, span: Range<usize>, message: &str) -> Self {
        let mut place = Self::new(path, text, span, "");
        let in_env = redact::is_env(text, place.line - 1);
        place.message = redact::message(message, in_env);
        place
    }

    /// A message of our own.
    pub(super) fn new(path: &Path, text: &str, span: Range<usize>, message: &str) -> Self {
        let start = char_start(text, span.start);
        let before = &text[..start];
        let line = before.matches('\n').count();
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = text[line_start..start].chars().count();
        let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let end = char_start(text, span.end.clamp(start, line_end));
        let marks = text[start..end].trim_end().chars().count().max(1);

        let number = line + 1;
        let shown = redact::line(text, line);
        let gutter = " ".repeat(number.to_string().len());
        let indent = " ".repeat(column);
        let mark = "^".repeat(marks);
        Self {
            path: path.to_owned(),
            line: number,
            column: column + 1,
            message: message.to_owned(),
            snippet: format!("{gutter} |\n{number} | {shown}\n{gutter} | {indent}{mark}"),
        }
    }
}

/// The start of the character at or before this byte.
fn char_start(text: &str, index: usize) -> usize {
    let mut start = index.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    start
}

impl fmt::Display for InFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        let (line, column) = (self.line, self.column);
        write!(
            f,
            "{path}:{line}:{column}: {}\n{}",
            self.message, self.snippet
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, span: Range<usize>) -> String {
        InFile::new(Path::new("y.toml"), text, span, "wrong").to_string()
    }

    #[test]
    fn a_place_is_shown_with_its_line() {
        assert_eq!(
            shown("a = 1\nbé = 22\n", 12..14),
            "y.toml:2:6: wrong\n  |\n2 | bé = 22\n  |      ^^"
        );
    }

    #[test]
    fn places_at_the_edges_are_shown() {
        assert_eq!(shown("", 0..0), "y.toml:1:1: wrong\n  |\n1 | \n  | ^");
        assert_eq!(shown("a\n", 2..2), "y.toml:2:1: wrong\n  |\n2 | \n  | ^");
        assert_eq!(shown("a\nb", 0..3), "y.toml:1:1: wrong\n  |\n1 | a\n  | ^");
        assert_eq!(shown("a", 9..12), "y.toml:1:2: wrong\n  |\n1 | a\n  |  ^");
    }
}
