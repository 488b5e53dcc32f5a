//! pytest's report: a headline per failed test, `E` lines with the message, places, and a short summary
//! that names the test again. One complaint per test comes of it, with the best of all of them.
//!
//! Whatever else stands in the report (sources, captured output) is the test's own and told by nobody.

use super::Family;
use super::found::{Complaint, Complaints, Weight, cut};
use super::place::{self, SourcePlace};
use super::python;

const TOOL: &str = "pytest";

/// So many failed tests are held back for the summary; more are told as the report has them.
const MOST_HELD: usize = 1_000;

#[derive(Clone, Default)]
pub(super) struct Pytest {
    part: Part,
    /// The test whose report is being read.
    current: Option<Failure>,
    held: Vec<Failure>,
    overflowed: bool,
}

#[derive(Default, PartialEq, Clone, Copy)]
enum Part {
    #[default]
    Elsewhere,
    Report,
    /// Within the report, what a test printed.
    Captured,
    Summary,
}

#[derive(Clone, Default)]
struct Failure {
    number: u64,
    /// `TestClass.test_x[1]`, or the file that could not be collected; unknown with `--tb=line`.
    name: Option<String>,
    place: Option<SourcePlace>,
    message: Option<String>,
    /// The next message is that of a later exception, and takes the place of the one before.
    settled: bool,
    /// A syntax error is quoted before it is named.
    quoting: bool,
    /// The summary named it.
    named: bool,
}

impl Family for Pytest {
    fn in_the_middle(&self) -> bool {
        self.part != Part::Elsewhere
    }

    fn line(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool {
        if let Some(title) = title(line, '=') {
            self.settle(found);
            self.part = match title {
                "FAILURES" | "ERRORS" => Part::Report,
                "short test summary info" => Part::Summary,
                _ => Part::Elsewhere,
            };
            if title == "test session starts" {
                self.finish(found);
            }
            return true;
        }
        match self.part {
            Part::Elsewhere => return false,
            _ if is_last(line) => {
                self.part = Part::Elsewhere;
                return true;
            }
            Part::Summary => return self.summary(number, line, found),
            Part::Report | Part::Captured => {}
        }
        if let Some(test) = title(line, '_') {
            self.settle(found);
            self.part = Part::Report;
            self.current = Some(Failure::of(number, test));
        } else if title(line, '-').is_some_and(|title| title.starts_with("Captured ")) {
            self.part = Part::Captured;
        } else if self.part == Part::Report || self.is_nameless() {
            self.report(number, line, found);
        }
        true
    }

    fn finish(&mut self, found: &mut Complaints) {
        self.settle(found);
        for failure in self.held.drain(..) {
            failure.tell(found);
        }
        self.overflowed = false;
    }
}

impl Pytest {
    /// make speaks, so pytest is gone, whether it came to its end or not.
    pub(super) fn interrupted(&mut self) {
        self.part = Part::Elsewhere;
    }

    /// With `--tb=line`, the place stands after what the test printed, and ends its report.
    fn is_nameless(&self) -> bool {
        self.current
            .as_ref()
            .is_none_or(|failure| failure.name.is_none())
    }

    fn report(&mut self, number: u64, line: &str, found: &mut Complaints) {
        let nameless = self.is_nameless();
        let captured = self.part == Part::Captured;
        let failure = self.current.get_or_insert_default();
        if let Some((place, kind)) = place_of(line) {
            let repeated = |message: &String| message.starts_with(kind);
            if nameless && failure.message.as_ref().is_some_and(repeated) {
                failure.place = Some(place);
                self.part = Part::Report;
                self.settle(found);
            } else if !captured {
                failure.stands_at(place);
            }
        } else if captured {
            // A place that repeats the message is all that can be told from the test's own words.
        } else if let Some(said) = line.strip_prefix("E  ") {
            failure.says(number, said);
        } else if let Some(place) = python::frame(line) {
            failure.stands_at(place);
        } else if failure.settled && python::is_exception(line) {
            failure.says(number, line);
        }
    }

    /// `FAILED tests/test_x.py::TestClass::test_x - message`, `ERROR tests/test_x.py`.
    fn summary(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool {
        let Some(failed) = line
            .strip_prefix("FAILED ")
            .or_else(|| line.strip_prefix("ERROR "))
        else {
            return false;
        };
        let (id, message) = failed.split_once(" - ").unwrap_or((failed, ""));
        let (file, name) = match id.split_once("::") {
            Some((file, name)) => (file, name.replace("::", ".")),
            None => (id, id.to_owned()),
        };
        let place = || SourcePlace::new(file, None, None);
        // The summary has the order of the report.
        let reported = self.held.iter_mut().find(|failure| {
            !failure.named && failure.name.as_ref().is_none_or(|known| *known == name)
        });
        if let Some(failure) = reported {
            failure.named = true;
            failure.name = Some(name);
            failure.place = failure.place.take().or_else(place);
            failure
                .message
                .get_or_insert_with(|| cut(message).to_owned());
        } else if !self.overflowed {
            let failure = Failure {
                number,
                name: Some(name),
                place: place(),
                message: Some(message.to_owned()),
                ..Failure::default()
            };
            failure.tell(found);
        }
        true
    }

    /// The report of the current test is at its end.
    fn settle(&mut self, found: &mut Complaints) {
        let Some(failure) = self.current.take().filter(Failure::is_one) else {
            return;
        };
        if self.held.len() < MOST_HELD {
            self.held.push(failure);
        } else {
            self.overflowed = true;
            failure.tell(found);
        }
    }
}

impl Failure {
    fn of(number: u64, headline: &str) -> Self {
        let name = [
            "ERROR at setup of ",
            "ERROR at teardown of ",
            "ERROR collecting ",
        ]
        .iter()
        .find_map(|start| headline.strip_prefix(start))
        .unwrap_or(headline);
        Self {
            number,
            name: Some(cut(name).to_owned()),
            ..Self::default()
        }
    }

    fn is_one(&self) -> bool {
        self.name.is_some() || self.message.is_some()
    }

    fn says(&mut self, number: u64, said: &str) {
        let said = said.trim();
        if let Some(place) = python::frame(said) {
            self.place = Some(place);
            self.quoting = true;
            return;
        }
        let next = if self.quoting {
            python::is_exception(said)
        } else {
            self.message.is_none() || self.settled
        };
        if next {
            self.message = Some(cut(said).to_owned());
            self.number = number;
            self.settled = false;
            self.quoting = false;
        }
    }

    fn stands_at(&mut self, place: SourcePlace) {
        self.place = Some(place);
        self.settled = true;
    }

    fn tell(self, found: &mut Complaints) {
        let message = self.message.filter(|message| !message.is_empty());
        let placed = self.place.as_ref().zip(self.name.as_ref());
        let of_file = placed.is_some_and(|(place, name)| place.file.ends_with(&name[..]));
        let message = match (self.name, message) {
            (Some(_), Some(message)) if of_file => message,
            (Some(name), Some(message)) => format!("{name}: {message}"),
            (Some(name), None) => format!("{name}: failed"),
            (None, message) => message.unwrap_or_default(),
        };
        found.add(
            self.number,
            Complaint::new(TOOL, Weight::Error, self.place, &message),
        );
    }
}

/// What stands between rules: `==== FAILURES ====`, `____ test_x ____`.
fn title(line: &str, rule: char) -> Option<&str> {
    let title = line.strip_prefix(rule)?.strip_suffix(rule)?;
    let title = title
        .trim_matches(rule)
        .strip_prefix(' ')?
        .strip_suffix(' ')?;
    // A line of `_ _ _ _` parts the frames of one test.
    title.contains(|c| c != rule && c != ' ').then_some(title)
}

/// `4 failed, 2 passed in 0.05s`, which ends a quiet run.
fn is_last(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit())
        && (line.contains(" failed") || line.contains(" error"))
        && line.contains(" in ")
        && line.ends_with(['s', ')'])
}

/// `tests/test_x.py:8: AssertionError` and `tests/test_x.py:8: in test_x`: the place, and what it is of.
fn place_of(line: &str) -> Option<(SourcePlace, &str)> {
    let (place, kind) = place::split(line)?;
    // Generated code has no file.
    (!place.file.starts_with('<')).then_some((place, kind))
}
