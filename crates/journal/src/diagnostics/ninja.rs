//! What ninja says itself: what is wrong with its files, and that a command failed, which only counts
//! where nothing else explains it.

use super::Family;
use super::found::{Complaint, Complaints, MOST_ITEMS, Weight};
use super::place;

const TOOL: &str = "ninja";

/// Many tools write `FAILED: …`, so those lines wait until ninja says that it stops.
#[derive(Clone, Default)]
pub(super) struct Ninja {
    failed: Vec<(u64, Complaint)>,
}

impl Family for Ninja {
    fn in_the_middle(&self) -> bool {
        false
    }

    fn line(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool {
        if line.starts_with("FAILED: ") {
            if self.failed.len() < MOST_ITEMS {
                let failed = Complaint::new(TOOL, Weight::Consequence, None, line);
                self.failed.push((number, failed));
            }
            return true;
        }
        let Some(said) = line.strip_prefix("ninja: ") else {
            return false;
        };
        if said.starts_with("build stopped: ") || said.ends_with(": subcommand failed") {
            if self.failed.is_empty() {
                found.add(
                    number,
                    Complaint::new(TOOL, Weight::Consequence, None, said),
                );
            }
            for (number, failed) in self.failed.drain(..) {
                found.add(number, failed);
            }
        } else if let Some(complaint) = own(said) {
            found.add(number, complaint);
        }
        true
    }

    fn finish(&mut self, _: &mut Complaints) {}
}

/// `error: build.ninja:3: expected '=', got identifier`, `warning: …`.
fn own(said: &str) -> Option<Complaint> {
    let (word, message) = said.split_once(": ")?;
    let weight = match word {
        "error" | "fatal" => Weight::Error,
        "warning" => Weight::Warning,
        _ => return None,
    };
    let (place, message) = match place::split(message) {
        Some((place, message)) => (Some(place), message),
        None => (None, message),
    };
    Some(Complaint::new(TOOL, weight, place, message))
}
