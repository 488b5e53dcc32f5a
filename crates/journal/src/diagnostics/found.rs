//! What was found so far: weighed, each complaint once, and never more than fits.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::directories::Directories;
use super::place::SourcePlace;
use branchyard_model::{Diagnostic, DiagnosticsSummary, Severity};

/// So many are kept; the rest is only counted.
pub(super) const MOST_ITEMS: usize = 500;

/// A message is cut after so many characters.
pub(super) const LONGEST_MESSAGE: usize = 1_000;

/// So many different complaints are recognised when they come again. Beyond, each one counts.
const MOST_REMEMBERED: usize = 1 << 16;

/// What a log complained about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostics {
    /// Errors first, then warnings, both in the order of the log; at most 500.
    pub items: Vec<Diagnostic>,
    pub summary: DiagnosticsSummary,
    /// Whether the summary counts more than `items` has.
    pub truncated: bool,
    /// The run goes on: this is what it complained about until now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub so_far: bool,
}

/// How much a complaint explains. Of the errors, only the heaviest kind that a log has is told: after
/// a compiler's own words, nobody needs to hear from `collect2` and `make` that it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Says what is wrong.
    Error,
    /// Says that something is wrong, and roughly what.
    Hint,
    /// Says that a command failed.
    Consequence,
    Warning,
}

impl From<Severity> for Weight {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
        }
    }
}

/// What one tool said, before it is known whether it is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Complaint {
    pub tool: &'static str,
    pub weight: Weight,
    pub place: Option<SourcePlace>,
    pub message: String,
}

impl Complaint {
    pub(super) fn new(
        tool: &'static str,
        weight: impl Into<Weight>,
        place: Option<SourcePlace>,
        message: &str,
    ) -> Self {
        Self {
            tool,
            weight: weight.into(),
            place,
            message: cut(message.trim()).to_owned(),
        }
    }
}

#[derive(Clone, Default)]
pub(super) struct Complaints {
    directories: Directories,
    remembered: HashSet<u64>,
    /// One for each [`Weight`].
    piles: [Pile; 4],
}

impl Complaints {
    pub(super) fn new(directories: Directories) -> Self {
        Self {
            directories,
            ..Self::default()
        }
    }

    pub(super) fn directories(&mut self) -> &mut Directories {
        &mut self.directories
    }

    pub(super) fn add(&mut self, log_line: u64, complaint: Complaint) {
        let Complaint {
            tool,
            weight,
            place,
            message,
        } = complaint;
        if message.is_empty() {
            return;
        }
        let severity = match weight {
            Weight::Warning => Severity::Warning,
            Weight::Error | Weight::Hint | Weight::Consequence => Severity::Error,
        };
        let (file, line, column) = place.map_or((None, None, None), |place| {
            (Some(place.file), place.line, place.column)
        });
        let diagnostic = Diagnostic {
            file,
            line,
            column,
            severity,
            message,
            tool: tool.to_owned(),
            log_line,
        };
        if !self.is_new(&diagnostic) {
            return;
        }
        self.piles[weight as usize].add(diagnostic);
    }

    pub(super) fn finish(mut self, is_stopped: bool) -> Diagnostics {
        if is_stopped {
            self.piles[Weight::Consequence as usize] = Pile::default();
            self.piles[Weight::Hint as usize].drop_stopped();
            self.piles[Weight::Error as usize].drop_stopped();
        }
        for pile in &mut self.piles {
            pile.resolve(&self.directories);
        }
        let [errors, hints, consequences, warnings] = self.piles;
        let errors = [errors, hints, consequences]
            .into_iter()
            .find(|pile| pile.count > 0)
            .unwrap_or_default();
        let (error_count, warning_count) = (errors.count, warnings.count);
        let items: Vec<_> = errors
            .kept
            .into_values()
            .chain(warnings.kept.into_values())
            .take(MOST_ITEMS)
            .collect();
        Diagnostics {
            truncated: items.len() < error_count + warning_count,
            summary: DiagnosticsSummary {
                errors: error_count,
                warnings: warning_count,
                first: items.first().cloned(),
            },
            items,
            so_far: false,
        }
    }

    fn is_new(&mut self, diagnostic: &Diagnostic) -> bool {
        let mut hasher = DefaultHasher::new();
        (&diagnostic.file, diagnostic.line, diagnostic.column).hash(&mut hasher);
        (diagnostic.severity, &diagnostic.message).hash(&mut hasher);
        // The same words in another directory are about another file, unless they name it whole.
        let is_whole = diagnostic
            .file
            .as_ref()
            .is_none_or(|file| file.starts_with('/'));
        if !is_whole {
            self.directories.entered().hash(&mut hasher);
        }
        let hash = hasher.finish();
        if self.remembered.len() < MOST_REMEMBERED {
            self.remembered.insert(hash)
        } else {
            !self.remembered.contains(&hash)
        }
    }
}

/// All complaints of one weight: all counted, the first ones of the log kept. What spans several lines
/// is found at its end, but stands where it began; so the order is kept here, not taken from the calls.
#[derive(Clone, Default)]
struct Pile {
    kept: BTreeMap<(u64, usize), Diagnostic>,
    count: usize,
}

impl Pile {
    fn add(&mut self, diagnostic: Diagnostic) {
        self.kept
            .insert((diagnostic.log_line, self.count), diagnostic);
        self.count += 1;
        if self.kept.len() > MOST_ITEMS {
            self.kept.pop_last();
        }
    }

    /// With files as they are in the workspace. What is about the same one then is told once.
    fn resolve(&mut self, directories: &Directories) {
        let (before, mut seen) = (self.kept.len(), HashSet::new());
        self.kept.retain(|_, diagnostic| {
            let written = diagnostic.file.take();
            let line = diagnostic.log_line;
            diagnostic.file = written.map(|file| directories.resolve(file, line));
            let Diagnostic {
                file,
                line,
                column,
                message,
                ..
            } = &*diagnostic;
            seen.insert((file.clone(), *line, *column, message.clone()))
        });
        self.count -= before - self.kept.len();
    }

    /// Without what only says that something was stopped.
    fn drop_stopped(&mut self) {
        let before = self.kept.len();
        let says_so = |message: &str| STOPPED.iter().any(|word| message.contains(word));
        self.kept
            .retain(|_, diagnostic| !says_so(&diagnostic.message));
        self.count -= before - self.kept.len();
    }
}

/// What tools say of a process that a signal ended.
const STOPPED: [&str; 5] = [
    "Terminated",
    "Interrupt",
    "Killed",
    "terminated by signal",
    "No child processes",
];

/// The part of a message that is kept.
pub(super) fn cut(message: &str) -> &str {
    message
        .char_indices()
        .nth(LONGEST_MESSAGE)
        .map_or(message, |(end, _)| &message[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(weight: Weight, message: &str) -> Complaint {
        Complaint::new("gcc", weight, None, message)
    }

    #[test]
    fn only_the_heaviest_errors_are_told() {
        let kinds = [Weight::Consequence, Weight::Hint, Weight::Error];
        for heaviest in 0..kinds.len() {
            let mut found = Complaints::default();
            for (number, weight) in (1..).zip(&kinds[..=heaviest]) {
                found.add(number, complaint(*weight, &format!("{weight:?}")));
            }
            found.add(9, complaint(Weight::Warning, "careful"));
            let told = found.finish(false);
            let messages: Vec<_> = told.items.iter().map(|item| &item.message[..]).collect();
            assert_eq!(messages, [&format!("{:?}", kinds[heaviest]), "careful"]);
            assert_eq!((told.summary.errors, told.summary.warnings), (1, 1));
        }
    }

    #[test]
    fn what_is_said_twice_is_told_once_where_it_was_said_first() {
        let mut found = Complaints::default();
        found.add(3, complaint(Weight::Error, "bad"));
        found.add(7, complaint(Weight::Error, "bad"));
        found.add(8, complaint(Weight::Warning, "bad"));
        let told = found.finish(false);
        let lines: Vec<_> = told.items.iter().map(|item| item.log_line).collect();
        assert_eq!(lines, [3, 8]);
    }

    #[test]
    fn what_is_not_kept_is_counted() {
        let mut found = Complaints::default();
        for number in 1..=400 {
            found.add(number, complaint(Weight::Warning, &format!("w{number}")));
            found.add(number, complaint(Weight::Error, &format!("e{number}")));
        }
        let told = found.finish(false);
        assert!(told.truncated);
        assert_eq!(told.items.len(), MOST_ITEMS);
        assert_eq!(told.items[399].severity, Severity::Error);
        assert_eq!(told.items[400].severity, Severity::Warning);
        assert_eq!((told.summary.errors, told.summary.warnings), (400, 400));
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut found = Complaints::default();
        let many = MOST_REMEMBERED + 10;
        for number in 0..many {
            found.add(1, complaint(Weight::Error, &number.to_string()));
        }
        found.add(1, complaint(Weight::Error, "0"));
        assert_eq!(found.remembered.len(), MOST_REMEMBERED);
        assert_eq!(found.finish(false).summary.errors, many);
    }

    #[test]
    fn of_a_command_that_was_stopped_only_the_rest_is_told() {
        let mut found = Complaints::default();
        found.add(1, complaint(Weight::Error, "x is not declared"));
        found.add(
            2,
            complaint(Weight::Error, "Killed signal terminated program cc1"),
        );
        found.add(
            3,
            complaint(Weight::Consequence, "[Makefile:7: all] Terminated"),
        );
        let told = found.finish(true);
        assert_eq!((told.summary.errors, told.items.len()), (1, 1));
        let mut found = Complaints::default();
        found.add(
            3,
            complaint(Weight::Consequence, "[Makefile:7: all] Error 1"),
        );
        assert_eq!(found.finish(true), Diagnostics::default());
    }

    #[test]
    fn a_message_is_cut_between_characters() {
        let long = "é".repeat(LONGEST_MESSAGE + 1);
        assert_eq!(cut(&long).chars().count(), LONGEST_MESSAGE);
        assert_eq!(cut("é"), "é");
    }
}
