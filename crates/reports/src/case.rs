//! What a report says of its tests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestState {
    Passed,
    /// Also what JUnit calls an error.
    Failed,
    Skipped,
}

/// One test. Its suite and its name together are its id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCase {
    /// Empty where the producer names none.
    pub suite: String,
    pub name: String,
    pub state: TestState,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    /// Why it failed or was skipped, without terminal escapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// As the producer writes it: relative to where it ran, or absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// It failed first, and passed when its producer ran it again.
    #[serde(default)]
    pub flaky: bool,
}

impl TestCase {
    pub(crate) fn new(suite: &str, name: &str, state: TestState) -> Self {
        Self {
            suite: crate::excerpt::name(suite),
            name: crate::excerpt::name(name),
            state,
            ms: None,
            message: None,
            file: None,
            line: None,
            flaky: false,
        }
    }
}

/// How many tests there are in each state. Flaky ones are among the passed ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    pub flaky: u64,
}

impl Counts {
    pub fn total(&self) -> u64 {
        self.passed
            .saturating_add(self.failed)
            .saturating_add(self.skipped)
    }

    pub(crate) fn state_mut(&mut self, state: TestState) -> &mut u64 {
        match state {
            TestState::Passed => &mut self.passed,
            TestState::Failed => &mut self.failed,
            TestState::Skipped => &mut self.skipped,
        }
    }

    /// Saturating: a log may claim any number.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
            flaky: self.flaky.saturating_add(other.flaky),
        }
    }
}

/// All tests of a report or a log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tests {
    /// Of all tests, also of those that `cases` leaves out.
    pub counts: Counts,
    /// In the order of the report, at most 100,000. Failed and flaky ones are kept in preference to others.
    pub cases: Vec<TestCase>,
    /// How many tests are counted and not in `cases`: there were too many, or the log does not name them.
    pub left_out: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_written_as_json_with_what_they_have() {
        let mut failed = TestCase::new("s", "n", TestState::Failed);
        failed.line = Some(3);
        let written = serde_json::to_string(&failed).expect("no map with odd keys");
        let expected = r#"{"suite":"s","name":"n","state":"failed","line":3,"flaky":false}"#;
        assert_eq!(written, expected);
        let read: TestCase = serde_json::from_str(&written).expect("as it was written");
        assert_eq!(read, failed);
    }
}
