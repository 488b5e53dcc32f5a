//! What make says itself: errors in makefiles, and that a recipe failed, which only counts where
//! nothing else explains it.

use super::found::{Complaint, Complaints, Weight};
use super::place::{self, SourcePlace};

const TOOL: &str = "make";

/// Knows how deep the last failed recipe was: the makes above it fail because of it.
#[derive(Clone, Default)]
pub(super) struct Make {
    depth: u32,
}

impl Make {
    pub(super) fn line(&mut self, number: u64, line: &str, found: &mut Complaints) {
        let Some((depth, said)) = place::program(line) else {
            return;
        };
        let Some(complaint) = own(said) else {
            return;
        };
        if complaint.weight == Weight::Consequence {
            let already_explained = depth < self.depth;
            self.depth = depth;
            if already_explained {
                return;
            }
        }
        found.add(number, complaint);
    }
}

/// `Makefile:3: *** missing separator.  Stop.`
pub(super) fn parse(line: &str) -> Option<Complaint> {
    let (place, said) = place::split(line)?;
    let said = said.strip_prefix("*** ")?;
    Some(Complaint::new(
        TOOL,
        Weight::Error,
        Some(place),
        without_stop(said),
    ))
}

fn own(said: &str) -> Option<Complaint> {
    if let Some(fatal) = said.strip_prefix("*** ") {
        return match fatal.strip_prefix('[') {
            Some(target) => recipe(target, fatal),
            None if fatal.starts_with("Waiting for ") || fatal.starts_with("Deleting ") => None,
            None => Some(Complaint::new(
                TOOL,
                Weight::Error,
                None,
                without_stop(fatal),
            )),
        };
    }
    let (head, message) = said.split_once(": ")?;
    match (head, message) {
        ("warning" | "Warning", _) => Some(Complaint::new(TOOL, Weight::Warning, None, message)),
        (_, "No such file or directory" | "Permission denied" | "Command not found") => {
            Some(Complaint::new(TOOL, Weight::Error, None, said))
        }
        _ => None,
    }
}

/// `[Makefile:7: all] Error 2`; before make 4.0, `[all] Error 2`.
fn recipe(target: &str, message: &str) -> Option<Complaint> {
    let (target, how) = target.rsplit_once("] ")?;
    if how.starts_with("Deleting ") {
        return None;
    }
    let place = target
        .split_once(": ")
        .and_then(|(place, _)| SourcePlace::parse(place));
    Some(Complaint::new(TOOL, Weight::Consequence, place, message))
}

fn without_stop(message: &str) -> &str {
    message.strip_suffix("  Stop.").unwrap_or(message)
}
