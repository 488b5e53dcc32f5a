//! What elements and attributes mean, whichever producer wrote them.

use quick_xml::events::BytesStart;

use super::entities::unescaped;
use crate::case::named;
use crate::excerpt::name;
use crate::seconds;
use branchyard_model::{TestCase, TestState};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    /// `testsuites`, or what else only has others in it.
    Group,
    Suite,
    Case,
    Outcome(CaseOutcome),
    /// Text of the outcome that it is in, as Surefire writes it.
    StackTrace,
    /// What the test printed.
    Output,
    /// Properties and anything unknown.
    Other,
}

/// What an element within a test says of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseOutcome {
    Failed,
    Skipped,
    /// Failed in an attempt before it passed.
    Flaky,
    /// Failed again in a further attempt.
    FailedAgain,
}

impl Element {
    pub(super) fn of(element: &BytesStart<'_>) -> Self {
        match element.local_name().as_ref() {
            "testsuites" => Self::Group,
            "testsuite" => Self::Suite,
            "testcase" => Self::Case,
            "failure" | "error" => Self::Outcome(CaseOutcome::Failed),
            "skipped" | "disabled" | "ignored" => Self::Outcome(CaseOutcome::Skipped),
            "flakyFailure" | "flakyError" => Self::Outcome(CaseOutcome::Flaky),
            "rerunFailure" | "rerunError" => Self::Outcome(CaseOutcome::FailedAgain),
            "stackTrace" => Self::StackTrace,
            "system-out" | "system-err" => Self::Output,
            _ => Self::Other,
        }
    }
}

/// A suite that is open.
pub(super) struct Suite {
    pub(super) name: String,
    pub(super) file: Option<String>,
}

impl Suite {
    pub(super) fn of(element: &BytesStart<'_>) -> Self {
        let (mut title, mut file) = (String::new(), None);
        for (key, value) in attributes(element) {
            match key {
                "name" => title = name(&value),
                "file" => file = Some(name(&value)),
                _ => {}
            }
        }
        Self { name: title, file }
    }
}

/// The test that an element begins, as far as its attributes say it.
pub(super) fn case(element: &BytesStart<'_>, suites: &[Suite]) -> TestCase {
    let mut case = named("", "", TestState::Passed);
    let mut class = String::new();
    for (key, value) in attributes(element) {
        match key {
            "name" => case.name = name(&value),
            "classname" | "class" => class = name(&value),
            "time" => case.ms = seconds::millis(&value),
            "file" | "filepath" => case.file = Some(name(&value)),
            "line" | "lineno" => case.line = value.trim().parse().ok(),
            "status" | "result" => case.state = state(&value, case.state),
            _ => {}
        }
    }
    case.suite = suite(class, suites);
    if case.file.is_none() {
        let file = |suite: &Suite| suite.file.clone();
        case.file = suites.iter().rev().find_map(file);
    }
    case
}

/// Node's own reporter writes `test` as the class of each test: its suites alone tell tests apart.
fn suite(class: String, suites: &[Suite]) -> String {
    if !class.trim().is_empty() && class != "test" {
        return class;
    }
    let names = suites.iter().map(|suite| suite.name.as_str());
    let names: Vec<_> = names.filter(|name| !name.is_empty()).collect();
    match names[..] {
        [] => class,
        _ if class == "test" => name(&names.join(" › ")),
        [.., last] => last.to_owned(),
    }
}

/// What a test's `status` or `result` says, where no element within it does: GoogleTest, CTest and behave have these.
fn state(word: &str, before: TestState) -> TestState {
    match word.to_ascii_lowercase().as_str() {
        "notrun" | "suppressed" | "skipped" | "disabled" | "untested" | "ignored" => {
            TestState::Skipped
        }
        "fail" | "failed" | "error" => TestState::Failed,
        _ => before,
    }
}

/// The `message` of an outcome.
pub(super) fn message(element: &BytesStart<'_>) -> Option<String> {
    let mut all = attributes(element);
    all.find(|(key, _)| *key == "message")
        .map(|(_, value)| value)
}

/// Attributes that can be read. Duplicates are not looked for: that takes quadratic time.
fn attributes<'a>(element: &'a BytesStart<'_>) -> impl Iterator<Item = (&'a str, String)> {
    let mut attributes = element.attributes();
    attributes.with_checks(false);
    attributes.filter_map(|attribute| {
        let attribute = attribute.ok()?;
        let key = attribute.key.into_inner();
        Some((key, unescaped(&attribute.value)))
    })
}
