//! The report of `go test`: a verdict for each test, with what it logged below, or with `-v` above. Of a
//! test that failed the last of that is told: an error may follow any number of mere remarks, and what
//! ends a test comes last.

use std::collections::{HashMap, HashSet};

use super::super::found::{Complaint, Complaints, Weight, cut};
use super::super::place::{self, SourcePlace};
use super::TOOL;

/// So many failed tests are held back until their package is known, and so many may run at once.
const MOST_HELD: usize = 1_000;

#[derive(Clone, Default)]
pub(super) struct Report {
    /// With `-v`, the test whose lines follow.
    speaking: Option<String>,
    /// The last that each test said before its verdict.
    said: HashMap<String, Remark>,
    /// Without `-v`, the lines of the last failed test follow its verdict.
    is_listing: bool,
    failed: Vec<Failure>,
    /// Tests that failed because one of their own tests did.
    parents: HashSet<String>,
}

#[derive(Clone)]
struct Failure {
    number: u64,
    name: String,
    remark: Option<Remark>,
}

#[derive(Clone)]
struct Remark {
    number: u64,
    place: SourcePlace,
    /// Where this is empty, the next lines have it.
    message: String,
}

impl Report {
    pub(super) fn in_the_middle(&self) -> bool {
        let speaking = self.speaking.as_ref().and_then(|test| self.said.get(test));
        !self.failed.is_empty() || speaking.is_some_and(|remark| remark.message.is_empty())
    }

    /// Whether the line belonged to the report.
    pub(super) fn line(&mut self, number: u64, line: &str, found: &mut Complaints) -> bool {
        if let Some(test) = speaker(line) {
            self.is_listing = false;
            self.speaking = Some(cut(test).to_owned());
        } else if let Some((is_failed, test)) = verdict(line) {
            self.judge(number, is_failed, cut(test), found);
        } else if let Some(package) = package(line) {
            self.tell(Some(package), found);
            *self = Self::default();
        } else if line.starts_with("    ") {
            return self.remark(number, line.trim_start());
        } else {
            self.is_listing = false;
            return false;
        }
        true
    }

    /// The name of the test whose verdict came last, if nothing came after it. It is no longer told here.
    pub(super) fn failing(&mut self) -> Option<String> {
        let failure = self.is_listing.then(|| self.failed.pop())?;
        self.is_listing = false;
        failure.map(|failure| failure.name)
    }

    /// All that failed, in this package.
    pub(super) fn tell(&mut self, package: Option<&str>, found: &mut Complaints) {
        for failure in self.failed.drain(..) {
            if failure.remark.is_some() || !self.parents.contains(&failure.name) {
                failure.tell(package, found);
            }
        }
        self.parents.clear();
    }

    fn judge(&mut self, number: u64, is_failed: bool, test: &str, found: &mut Complaints) {
        self.speaking = None;
        self.is_listing = is_failed;
        let remark = self.said.remove(test);
        if !is_failed {
            return;
        }
        if self.failed.len() == MOST_HELD {
            self.tell(None, found);
        }
        if let Some((parent, _)) = test.rsplit_once('/') {
            self.parents.insert(parent.to_owned());
        }
        self.failed.push(Failure {
            number,
            name: test.to_owned(),
            remark,
        });
    }

    /// `a_test.go:7: got 1, want 2`, or the lines after that.
    fn remark(&mut self, number: u64, text: &str) -> bool {
        let failed = self.failed.last_mut().filter(|_| self.is_listing);
        let remark = match (&failed, &self.speaking) {
            (Some(failure), _) => failure.remark.as_ref(),
            (None, Some(test)) => self.said.get(test),
            (None, None) => return false,
        };
        let unfinished = remark.filter(|remark| remark.message.is_empty());
        let remark = match (place::split(text), unfinished) {
            (Some((place, said)), _) if is_source(&place) => Remark {
                number,
                place,
                message: cut(said.trim()).to_owned(),
            },
            // Testify begins a new line, and says where it is once more.
            (_, Some(_)) if text.is_empty() || text.starts_with("Error Trace:") => return true,
            (_, Some(Remark { number, place, .. })) => Remark {
                number: *number,
                place: place.clone(),
                message: cut(text.strip_prefix("Error:").unwrap_or(text).trim()).to_owned(),
            },
            _ => return false,
        };
        match (failed, &self.speaking) {
            (Some(failure), _) => failure.remark = Some(remark),
            (None, Some(test)) if self.said.len() < MOST_HELD || self.said.contains_key(test) => {
                self.said.insert(test.clone(), remark);
            }
            _ => {}
        }
        true
    }
}

impl Failure {
    fn tell(self, package: Option<&str>, found: &mut Complaints) {
        let Self { name, remark, .. } = self;
        let (number, place, message) = match remark {
            Some(remark) => (remark.number, Some(remark.place), remark.message),
            None => (self.number, None, String::new()),
        };
        let place = place.map(|place| match package {
            Some(package) => SourcePlace {
                file: found.directories().in_package(package, place.file),
                ..place
            },
            None => place,
        });
        let message = match &message[..] {
            "" => format!("{name}: failed"),
            message => format!("{name}: {message}"),
        };
        found.add(number, Complaint::new(TOOL, Weight::Error, place, &message));
    }
}

/// The test whose lines follow: `=== RUN   TestX/sub`, `=== CONT  TestX`, `=== NAME  TestX`.
fn speaker(line: &str) -> Option<&str> {
    let (word, test) = line.strip_prefix("=== ")?.split_once("  ")?;
    let test = test.trim();
    (matches!(word, "RUN" | "CONT" | "NAME" | "PAUSE") && is_name(test)).then_some(test)
}

/// `    --- FAIL: TestX/sub (0.00s)`: whether it failed, and its name.
fn verdict(line: &str) -> Option<(bool, &str)> {
    let (word, rest) = line.trim_start().strip_prefix("--- ")?.split_once(": ")?;
    let (test, seconds) = rest.strip_suffix("s)")?.rsplit_once(" (")?;
    let is_time = seconds
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_failed = match word {
        "FAIL" => true,
        "PASS" | "SKIP" => false,
        _ => return None,
    };
    (is_time && is_name(test)).then_some((is_failed, test))
}

/// `FAIL\texample.com/app/sub\t0.034s`, which ends the report of a package.
fn package(line: &str) -> Option<&str> {
    let rest = line
        .strip_prefix("FAIL\t")
        .or_else(|| line.strip_prefix("ok  \t"))?;
    rest.split(['\t', ' ']).next()
}

/// Tests have names without spaces, whatever their authors call them.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

fn is_source(place: &SourcePlace) -> bool {
    place.ending() == Some("go") && place.column.is_none()
}
