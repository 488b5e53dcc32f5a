//! Python's tracebacks: the last frame is the place, the line after the frames is the message, and of
//! exceptions that caused one another the last one counts.

use super::Family;
use super::found::{Complaint, Complaints, Weight};
use super::place::{self, SourcePlace};

const TOOL: &str = "python";

/// A frame is followed by its line of source and some carets, and in the end by the message. What goes
/// on for longer without either was no traceback, or was cut off.
const PATIENCE: usize = 64;

#[derive(Clone, Default)]
pub(super) struct Python {
    traceback: Option<Traceback>,
    /// The last exception, held back because it may be only the cause of the next one.
    last: Option<(u64, Complaint)>,
}

#[derive(Clone)]
struct Traceback {
    /// How far it is indented; in an exception group, there are bars in front.
    margin: usize,
    place: Option<SourcePlace>,
    patience: usize,
}

impl Family for Python {
    fn in_the_middle(&self) -> bool {
        self.traceback.is_some()
    }

    fn line(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool {
        if let Some(margin) = begins(line) {
            self.finish(found);
            self.traceback = Some(Traceback::new(margin));
            return true;
        }
        if line.ends_with("exception:") && line.contains(" above exception ")
            || line.ends_with("another exception occurred:")
        {
            self.last = None;
            return true;
        }
        let Some(traceback) = &mut self.traceback else {
            // A syntax error in the program itself has a frame, but no headline.
            let Some(place) = frame(line).filter(|_| !line.contains(", in ")) else {
                return false;
            };
            self.finish(found);
            self.traceback = Some(Traceback {
                place: Some(place),
                ..Traceback::new(0)
            });
            return true;
        };
        let inner = line.get(traceback.margin..).unwrap_or_default();
        if let Some(place) = frame(inner) {
            traceback.step(place);
            return true;
        }
        if traceback.place.is_some() && is_exception(inner) {
            let complaint = Complaint::new(TOOL, Weight::Error, traceback.place.take(), inner);
            self.traceback = None;
            self.last = Some((number, complaint));
            return true;
        }
        traceback.patience -= 1;
        if traceback.patience == 0 {
            self.traceback = None;
        }
        inner.starts_with("    ")
    }

    fn finish(&mut self, found: &mut Complaints) {
        if let Some((number, complaint)) = self.last.take() {
            found.add(number, complaint);
        }
    }
}

impl Traceback {
    fn new(margin: usize) -> Self {
        Self {
            margin,
            place: None,
            patience: PATIENCE,
        }
    }

    /// Frames without a file (`<frozen importlib._bootstrap>`) count only if there is no other.
    fn step(&mut self, place: SourcePlace) {
        self.patience = PATIENCE;
        if self.place.is_none() || !place.file.starts_with('<') {
            self.place = Some(place);
        }
    }
}

/// The margin of a traceback that begins here.
fn begins(line: &str) -> Option<usize> {
    let head = line.strip_suffix("Traceback (most recent call last):")?;
    let head = head.strip_suffix("Exception Group ").unwrap_or(head);
    head.chars()
        .all(|c| matches!(c, ' ' | '|' | '+'))
        .then_some(head.len())
}

/// `  File "x.py", line 3, in f`, or without a function in a syntax error.
pub(super) fn frame(line: &str) -> Option<SourcePlace> {
    let (file, rest) = line
        .trim_start()
        .strip_prefix("File \"")?
        .split_once("\", line ")?;
    let (at, _) = rest.split_once(", in ").unwrap_or((rest, ""));
    SourcePlace::new(file, Some(place::number(at)?), None)
}

/// `ValueError: bad`, `socket.timeout: late`, `KeyboardInterrupt`: a class has a capital or a module.
pub(super) fn is_exception(line: &str) -> bool {
    let (class, bare) = match line.split_once(": ") {
        Some((class, _)) => (class, false),
        None => (line.strip_suffix(':').unwrap_or(line), true),
    };
    let named = class
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '<' | '>'))
        && class.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let name = class.rsplit('.').next().unwrap_or_default();
    let capital = name.trim_start_matches('_').starts_with(char::is_uppercase);
    let usual = [
        "Error",
        "Exception",
        "Exit",
        "Interrupt",
        "Iteration",
        "Warning",
    ]
    .iter()
    .any(|ending| name.ends_with(ending));
    named && (usual || !bare && (capital || class.contains('.')))
}
