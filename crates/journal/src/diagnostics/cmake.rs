//! CMake, whose messages stand indented below a headline with their place, in paragraphs. The first one
//! says what is wrong; the others advise.

use super::Family;
use super::found::{Complaint, Complaints, LONGEST_MESSAGE};
use super::place::{self, SourcePlace};
use branchyard_model::Severity;

const TOOL: &str = "cmake";

/// What a headline begins with. Between this and the place may be a group: `(dev)`.
const KINDS: &[(&str, Severity)] = &[
    ("CMake Error", Severity::Error),
    ("CMake Warning", Severity::Warning),
    ("CMake Deprecation Error", Severity::Error),
    ("CMake Deprecation Warning", Severity::Warning),
];

#[derive(Clone, Default)]
pub(super) struct Cmake {
    message: Option<Message>,
}

#[derive(Clone)]
struct Message {
    since: u64,
    severity: Severity,
    place: Option<SourcePlace>,
    text: String,
    /// The first paragraph is over.
    is_said: bool,
    /// Two blank lines in a row end it.
    is_after_blank: bool,
    /// In the list of calls that led here.
    in_calls: bool,
}

impl Family for Cmake {
    fn in_the_middle(&self) -> bool {
        self.message.is_some()
    }

    fn line(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool {
        if let Some(message) = &mut self.message {
            if message.goes_on(line) {
                return true;
            }
            self.finish(found);
        }
        let Some((severity, place, said)) = headline(line) else {
            return false;
        };
        if said.is_empty() {
            self.message = Some(Message::new(number, severity, place));
        } else {
            found.add(number, Complaint::new(TOOL, severity, place, said));
        }
        true
    }

    fn finish(&mut self, found: &mut Complaints) {
        if let Some(message) = self.message.take() {
            let complaint = Complaint::new(TOOL, message.severity, message.place, &message.text);
            found.add(message.since, complaint);
        }
    }
}

impl Message {
    fn new(since: u64, severity: Severity, place: Option<SourcePlace>) -> Self {
        Self {
            since,
            severity,
            place,
            text: String::new(),
            is_said: false,
            is_after_blank: false,
            in_calls: false,
        }
    }

    /// Whether the line belongs to it.
    fn goes_on(&mut self, line: &str) -> bool {
        if line.trim().is_empty() {
            // `Cannot find source file:` is nothing without the next paragraph.
            self.is_said |= !self.text.is_empty() && !self.text.ends_with(':');
            return !std::mem::replace(&mut self.is_after_blank, true);
        }
        self.is_after_blank = false;
        if line.starts_with("Call Stack (") {
            self.in_calls = true;
            return true;
        }
        let Some(line) = line.strip_prefix("  ") else {
            return false;
        };
        if self.in_calls {
            self.called_from(line);
        } else if !self.is_said && self.text.len() < LONGEST_MESSAGE {
            let space = if self.text.is_empty() { "" } else { " " };
            self.text = format!("{}{space}{}", self.text, line.trim());
        }
        true
    }

    /// What one of CMake's own modules says is about the first call of it.
    fn called_from(&mut self, line: &str) {
        if self.place.as_ref().is_some_and(is_own_module)
            && let Some(caller) = call(line)
        {
            self.place = Some(caller);
        }
    }
}

/// The severity and place of a headline, and its message, if that follows in the same line.
fn headline(line: &str) -> Option<(Severity, Option<SourcePlace>, &str)> {
    let kind = KINDS.iter().find_map(|(start, severity)| {
        let rest = line.strip_prefix(start)?;
        Some((*severity, rest))
    });
    let (severity, rest) = kind?;
    let rest = match rest.strip_prefix(" (") {
        Some(group) => group.split_once(')')?.1,
        None => rest,
    };
    if let Some(said) = rest.strip_prefix(':') {
        return Some((severity, None, said.trim()));
    }
    let rest = rest.strip_suffix(':')?;
    let place = match rest.strip_prefix(" at ") {
        Some(place) => call(place),
        None => SourcePlace::new(rest.strip_prefix(" in ")?, None, None),
    };
    Some((severity, Some(place?), ""))
}

/// `CMakeLists.txt:3 (find_package)`
fn call(text: &str) -> Option<SourcePlace> {
    let (place, _) = text.strip_suffix(')')?.rsplit_once(" (")?;
    let (file, line) = place.rsplit_once(':')?;
    SourcePlace::new(file, Some(place::number(line)?), None)
}

fn is_own_module(place: &SourcePlace) -> bool {
    place.file.starts_with('/') && place.file.contains("/share/cmake")
}
