//! rustc and cargo, whose complaints have their place on a later line, and panics, which have their
//! message there.

use super::Family;
use super::found::{Complaint, Complaints, Weight};
use super::place::SourcePlace;
use super::severity::severity;
use branchyard_model::Severity;

pub(super) const TOOL: &str = "rustc";

/// A place or a message follows within so many lines, even where two compilers write at once.
const PATIENCE: usize = 8;

/// Counting up what was said before.
const SUMS: &[&str] = &[
    " generated ",
    " warning emitted",
    " warnings emitted",
    "build failed, waiting for other jobs",
];

/// That something failed which was explained before, or should have been.
const CONSEQUENCES: &[&str] = &[
    "aborting due to ",
    "could not compile ",
    "test failed, to rerun ",
    "doctest failed, to rerun ",
    "build failed",
    "process didn't exit successfully",
];

#[derive(Clone, Default)]
pub(super) struct Rust {
    waiting: Option<Waiting>,
}

#[derive(Clone)]
struct Waiting {
    since: u64,
    patience: usize,
    complaint: Complaint,
    what: What,
}

#[derive(Clone, PartialEq)]
enum What {
    /// ` --> src/main.rs:3:5`
    Place,
    /// What the panic says, on the next line.
    Message,
    /// `  left: 1` and ` right: 2` after a failed assertion.
    Values,
}

impl Family for Rust {
    fn in_the_middle(&self) -> bool {
        self.waiting.is_some()
    }

    fn line(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool {
        if self.continues(line, found) {
            return true;
        }
        let Some((complaint, what)) = headline(line).or_else(|| panic(line)) else {
            return false;
        };
        self.finish(found);
        self.waiting = Some(Waiting {
            since: number,
            patience: PATIENCE,
            complaint,
            what,
        });
        true
    }

    fn finish(&mut self, found: &mut Complaints) {
        if let Some(waiting) = self.waiting.take() {
            found.add(waiting.since, waiting.complaint);
        }
    }
}

impl Rust {
    fn continues(&mut self, line: &str, found: &mut Complaints) -> bool {
        let Some(waiting) = &mut self.waiting else {
            return false;
        };
        let complaint = &mut waiting.complaint;
        let done = match waiting.what {
            What::Place => line.trim_start().strip_prefix("--> ").map(|place| {
                complaint.place = SourcePlace::parse(place.trim());
                complaint.tool = tool_of(complaint.place.as_ref());
                true
            }),
            What::Message if line.is_empty() => None,
            What::Message => {
                *complaint = Complaint::new(TOOL, Weight::Error, complaint.place.take(), line);
                waiting.what = What::Values;
                return true;
            }
            What::Values => match line.trim_start().split_once(": ") {
                Some((side @ ("left" | "right"), _)) if line.starts_with(' ') => {
                    let message = format!("{}, {}", complaint.message, line.trim());
                    *complaint =
                        Complaint::new(TOOL, Weight::Error, complaint.place.take(), &message);
                    if side == "left" {
                        return true;
                    }
                    Some(true)
                }
                _ => Some(false),
            },
        };
        waiting.patience -= 1;
        let over = waiting.patience == 0;
        if done.is_some() || over {
            self.finish(found);
        }
        done == Some(true)
    }
}

/// `error[E0308]: mismatched types`, `warning: unused variable`.
fn headline(line: &str) -> Option<(Complaint, What)> {
    if !line.starts_with("error") && !line.starts_with("warning") {
        return None;
    }
    let coded = line.starts_with("error[") || line.starts_with("warning[");
    let (severity, message) = severity(line)?;
    let weight = weigh(severity, &message)?;
    // Until it points to a source, it can be anybody's: git writes `error: …`, too.
    let own = coded || weight == Weight::Hint || message.starts_with("linking with ");
    let tool = if own { TOOL } else { "generic" };
    Some((Complaint::new(tool, weight, None, &message), What::Place))
}

/// `None` for what only counts up.
pub(super) fn weigh(severity: Severity, message: &str) -> Option<Weight> {
    match severity {
        Severity::Warning if SUMS.iter().any(|sum| message.contains(sum)) => None,
        Severity::Error if CONSEQUENCES.iter().any(|start| message.starts_with(start)) => {
            Some(Weight::Hint)
        }
        severity => Some(severity.into()),
    }
}

fn tool_of(place: Option<&SourcePlace>) -> &'static str {
    match place.and_then(SourcePlace::ending) {
        Some("rs" | "toml") | None => TOOL,
        Some(_) => "generic",
    }
}

/// `thread 'main' (42) panicked at src/main.rs:3:5:`; before Rust 1.73, `… at 'message', src/main.rs:3:5`.
fn panic(line: &str) -> Option<(Complaint, What)> {
    let (before, at) = line.split_once(" panicked at ")?;
    if !before.contains("thread '") {
        return None;
    }
    if let Some(place) = at.strip_suffix(':') {
        let complaint = Complaint::new(TOOL, Weight::Error, SourcePlace::parse(place), "panicked");
        return Some((complaint, What::Message));
    }
    let (message, place) = at.rsplit_once("', ")?;
    let message = message.strip_prefix('\'')?;
    let complaint = Complaint::new(TOOL, Weight::Error, SourcePlace::parse(place), message);
    Some((complaint, What::Values))
}
