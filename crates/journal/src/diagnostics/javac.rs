//! javac, as it writes itself and as Maven and Gradle pass it on. Below the place and the message stand
//! the line of source, a caret that tells the column, and what the message is about.

use super::Family;
use super::found::{Complaint, Complaints, cut};
use super::place::{self, SourcePlace};
use branchyard_model::Severity;

pub(super) const TOOL: &str = "javac";

/// The caret or the next detail follows within so many lines, even where two compilers write at once.
const PATIENCE: usize = 8;

/// What is said of the message in lines of their own.
const DETAILS: &[&str] = &["symbol:", "location:", "required:", "found:", "reason:"];

#[derive(Clone, Default)]
pub(super) struct Javac {
    waiting: Option<PendingError>,
}

#[derive(Clone)]
struct PendingError {
    since: u64,
    patience: usize,
    complaint: Complaint,
}

impl Family for Javac {
    fn in_the_middle(&self) -> bool {
        self.waiting.is_some()
    }

    fn line(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool {
        if let Some(complaint) = headline(line) {
            self.finish(found);
            self.waiting = Some(PendingError {
                since: number,
                patience: PATIENCE,
                complaint,
            });
            return true;
        }
        let Some(waiting) = &mut self.waiting else {
            return false;
        };
        let taken = waiting.takes(without_level(line).map_or(line, |(_, line)| line));
        if waiting.patience == 0 {
            self.finish(found);
        }
        taken
    }

    fn finish(&mut self, found: &mut Complaints) {
        if let Some(waiting) = self.waiting.take() {
            found.add(waiting.since, waiting.complaint);
        }
    }
}

impl PendingError {
    fn takes(&mut self, line: &str) -> bool {
        self.patience -= 1;
        let Complaint { place, message, .. } = &mut self.complaint;
        let text = line.trim();
        if text == "^"
            && let Some(place) = place
            && place.column.is_none()
        {
            // Tabs are kept in front of a caret, so that it stands below the same character.
            let before = line.chars().position(|c| c == '^').unwrap_or_default();
            place.column = u32::try_from(before + 1).ok();
            self.patience = PATIENCE;
            return true;
        }
        let is_detail = line.starts_with("  ") && DETAILS.iter().any(|word| text.starts_with(word));
        if is_detail {
            let words: Vec<_> = text.split_whitespace().collect();
            let whole = format!("{}, {}", message.trim_end_matches(';'), words.join(" "));
            *message = cut(&whole).to_owned();
            self.patience = PATIENCE;
        } else if place.as_ref().is_some_and(|place| place.column.is_some())
            && !line.starts_with(' ')
        {
            self.patience = 0;
        }
        is_detail
    }
}

fn headline(line: &str) -> Option<Complaint> {
    if !line.contains(".java:") {
        return None;
    }
    let (severity, place, message) = maven(line).or_else(|| own(line))?;
    (place.ending() == Some("java")).then(|| Complaint::new(TOOL, severity, Some(place), message))
}

/// `A.java:3: error: ';' expected`
fn own(line: &str) -> Option<(Severity, SourcePlace, &str)> {
    // Gradle has written `:compileJava` before without ending the line.
    let task = line.starts_with(':').then(|| line.find('/')).flatten();
    let (place, said) = place::split(&line[task.unwrap_or(0)..])?;
    let (word, message) = said.split_once(": ")?;
    let severity = match word {
        "error" => Severity::Error,
        "warning" => Severity::Warning,
        _ => return None,
    };
    Some((severity, place, message))
}

/// `[ERROR] /x/A.java:[3,5] ';' expected`
fn maven(line: &str) -> Option<(Severity, SourcePlace, &str)> {
    let (severity, said) = without_level(line)?;
    let (file, rest) = said.split_once(":[")?;
    let (at, message) = rest.split_once("] ")?;
    let (at, column) = at.split_once(',')?;
    let place = SourcePlace::new(file, Some(place::number(at)?), Some(place::number(column)?))?;
    let message = message.strip_prefix("error: ").unwrap_or(message);
    Some((severity, place, message))
}

/// What Maven says in a line, and how bad it is.
fn without_level(line: &str) -> Option<(Severity, &str)> {
    let error = line
        .strip_prefix("[ERROR] ")
        .map(|said| (Severity::Error, said));
    error.or_else(|| Some((Severity::Warning, line.strip_prefix("[WARNING] ")?)))
}
