//! ESLint's formats: `stylish`, its default, names a file and lists what is wrong below it; `compact`
//! and `unix` say all of it in one line.

use super::Family;
use super::found::{Complaint, Complaints};
use super::place::{self, SourcePlace};
use branchyard_model::Severity;

const TOOL: &str = "eslint";

#[derive(Clone, Default)]
pub(super) struct Eslint {
    /// The file whose rows are being read. They follow its name at once, so that any other line ends
    /// them: a table of another tool is not about the last path that was printed.
    file: Option<String>,
}

impl Family for Eslint {
    fn in_the_middle(&self) -> bool {
        self.file.is_some()
    }

    fn line(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool {
        if let Some(complaint) = self.file.as_ref().and_then(|file| row(file, line)) {
            found.add(number, complaint);
            return true;
        }
        self.file = is_file(line).then(|| line.to_owned());
        self.in_the_middle()
    }

    fn finish(&mut self, _: &mut Complaints) {}
}

/// A path from the root, as ESLint always writes it, and nothing else.
fn is_file(line: &str) -> bool {
    line.starts_with('/')
        && !line.contains(':')
        && SourcePlace::new(line, None, None).is_some_and(|place| place.is_source())
}

/// `  3:12  error  'x' is not defined  no-undef`, in columns; a syntax error breaks no rule.
fn row(file: &str, line: &str) -> Option<Complaint> {
    let (at, rest) = line.strip_prefix("  ")?.trim_start().split_once("  ")?;
    let (at, column) = at.split_once(':')?;
    let place = SourcePlace::new(file, Some(place::number(at)?), Some(place::number(column)?))?;
    let (word, rest) = rest.trim_start().split_once("  ")?;
    let (message, rule) = match rest.rsplit_once("  ") {
        Some((message, rule)) if is_rule(rule) => (message, Some(rule)),
        _ => (rest, None),
    };
    complaint(place, word, message, rule)
}

/// `/x/a.js: line 3, col 12, Error - 'x' is not defined. (no-undef)`
pub(super) fn compact(line: &str) -> Option<Complaint> {
    let (file, rest) = line.split_once(": line ")?;
    let (at, rest) = rest.split_once(", col ")?;
    let (column, rest) = rest.split_once(", ")?;
    let (word, said) = rest.split_once(" - ")?;
    let place = SourcePlace::new(file, Some(place::number(at)?), Some(place::number(column)?))?;
    let (message, rule) = match said
        .strip_suffix(')')
        .and_then(|said| said.rsplit_once(" ("))
    {
        Some((message, rule)) if is_rule(rule) => (message, Some(rule)),
        _ => (said, None),
    };
    complaint(place, word, message, rule)
}

/// `/x/a.js:3:12: 'x' is not defined. [Error/no-undef]`
pub(super) fn unix(line: &str) -> Option<Complaint> {
    let (message, kind) = line.strip_suffix(']')?.rsplit_once(" [")?;
    let (word, rule) = match kind.split_once('/') {
        Some((word, rule)) => (word, Some(rule)),
        None => (kind, None),
    };
    if !matches!(word, "Error" | "Warning") {
        return None;
    }
    let (place, message) = place::split(message)?;
    complaint(place, word, message, rule)
}

fn complaint(
    place: SourcePlace,
    word: &str,
    message: &str,
    rule: Option<&str>,
) -> Option<Complaint> {
    let severity = match word {
        "error" | "Error" => Severity::Error,
        "warning" | "Warning" => Severity::Warning,
        _ => return None,
    };
    let message = message.trim();
    let message = rule.map_or_else(|| message.to_owned(), |rule| format!("{message} [{rule}]"));
    let known = place.column.is_some() && place.is_source();
    known.then(|| Complaint::new(TOOL, severity, Some(place), &message))
}

/// `no-undef`, `@typescript-eslint/no-explicit-any`.
fn is_rule(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '@')
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '@' | '.'))
}
