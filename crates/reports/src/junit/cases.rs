//! Elements into tests.

use quick_xml::events::BytesStart;

use super::dialect::{self, CaseOutcome, Element, Suite};
use crate::excerpt::{MessageText, name};
use crate::kept::KeptTests;
use branchyard_model::{TestCase, TestReport, TestState, TestVerdict};

/// The name that pytest gives its suite unless it is told another.
const PYTEST: &str = "pytest";

pub(super) struct Cases {
    kept: KeptTests,
    open: Vec<Element>,
    suites: Vec<Suite>,
    case: Option<OpenCase>,
    /// A test that passed, and that may be an attempt of the next one.
    attempt: Option<TestCase>,
    has_root: bool,
}

struct OpenCase {
    case: TestCase,
    failed: bool,
    skipped: bool,
    message: MessageText,
    /// What the outcome that is open says in its attribute and in its text.
    said: Option<String>,
    text: MessageText,
    output: MessageText,
}

impl Cases {
    pub(super) fn new() -> Self {
        Self {
            kept: KeptTests::of_report(),
            open: Vec::new(),
            suites: Vec::new(),
            case: None,
            attempt: None,
            has_root: false,
        }
    }

    pub(super) fn open_elements(&self) -> usize {
        self.open.len()
    }

    pub(super) fn start(&mut self, element: &BytesStart<'_>) -> Result<(), String> {
        let kind = Element::of(element);
        if self.open.is_empty() && !matches!(kind, Element::Group | Element::Suite) {
            let found = name(element.name().as_ref());
            return Err(format!(
                "its root is `{found}`, not `testsuites` or `testsuite`"
            ));
        }
        self.has_root = true;
        let kind = match (kind, self.open.last(), &mut self.case) {
            (Element::Suite, _, None) => {
                self.suites.push(Suite::of(element));
                Element::Suite
            }
            (Element::Case, _, None) => {
                self.case = Some(OpenCase::new(dialect::case(element, &self.suites)));
                Element::Case
            }
            (Element::Outcome(outcome), Some(Element::Case), Some(case)) => {
                case.said = dialect::message(element);
                Element::Outcome(outcome)
            }
            (Element::StackTrace, Some(Element::Outcome(_)), _) => Element::StackTrace,
            (Element::Output, Some(Element::Case), _) => Element::Output,
            (Element::Group, _, None) => Element::Group,
            _ => Element::Other,
        };
        self.open.push(kind);
        Ok(())
    }

    pub(super) fn text(&mut self, text: &str) {
        match (self.open.last(), &mut self.case) {
            (Some(Element::Outcome(_) | Element::StackTrace), Some(case)) => case.text.push(text),
            (Some(Element::Output), Some(case)) => case.output.push(text),
            _ => {}
        }
    }

    pub(super) fn end(&mut self) {
        match self.open.pop() {
            Some(Element::Suite) => {
                self.suites.pop();
            }
            Some(Element::Outcome(outcome)) => {
                if let Some(case) = &mut self.case {
                    case.end_outcome(outcome);
                }
            }
            Some(Element::Case) => {
                if let Some(case) = self.case.take() {
                    self.add(case.finish());
                }
            }
            _ => {}
        }
    }

    /// pytest-rerunfailures leaves an element for each attempt, all but the last without any outcome. pytest itself
    /// never repeats an id after a test that passed.
    fn add(&mut self, mut case: TestCase) {
        if let Some(attempt) = self.attempt.take() {
            let is_same = attempt.suite == case.suite && attempt.name == case.name;
            match is_same {
                true if case.state == TestState::Passed => case.verdict = Some(TestVerdict::Flaky),
                true => {}
                false => self.kept.add(attempt),
            }
        }
        let is_pytest = self.suites.last().is_some_and(|suite| suite.name == PYTEST);
        if is_pytest && case.state == TestState::Passed {
            self.attempt = Some(case);
        } else {
            self.kept.add(case);
        }
    }

    /// `None` if there was no element at all.
    pub(super) fn finish(mut self) -> Option<TestReport> {
        if let Some(attempt) = self.attempt.take() {
            self.kept.add(attempt);
        }
        self.has_root.then(|| self.kept.finish())
    }
}

impl OpenCase {
    fn new(case: TestCase) -> Self {
        Self {
            failed: case.state == TestState::Failed,
            skipped: case.state == TestState::Skipped,
            case,
            message: MessageText::default(),
            said: None,
            text: MessageText::default(),
            output: MessageText::default(),
        }
    }

    fn end_outcome(&mut self, outcome: CaseOutcome) {
        let said = self.said.take().unwrap_or_default();
        let text = std::mem::take(&mut self.text);
        match outcome {
            CaseOutcome::Failed => self.failed = true,
            CaseOutcome::Skipped => self.skipped = true,
            CaseOutcome::Flaky => self.case.verdict = Some(TestVerdict::Flaky),
            // The failure itself says why; a further attempt says no more.
            CaseOutcome::FailedAgain => {
                self.failed = true;
                return;
            }
        }
        if !self.message.is_empty() {
            self.message.push("\n\n");
        }
        // Many producers repeat the message in the text.
        if !text.as_str().contains(said.trim()) {
            self.message.push_line(&said);
        }
        self.message.push(text.as_str());
    }

    fn finish(mut self) -> TestCase {
        self.case.state = match (self.failed, self.skipped) {
            (true, _) => TestState::Failed,
            (false, true) => TestState::Skipped,
            (false, false) => TestState::Passed,
        };
        if self.case.state != TestState::Passed {
            self.case.verdict = None;
        }
        self.case.message = self.message.finish();
        // CTest says no more of a failure than what was printed.
        if self.failed && self.case.message.is_none() {
            self.case.message = self.output.finish();
        }
        self.case
    }
}
