//! Tests as data: what a run's test programs reported.

use std::fmt;
use std::ops::Add;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::BranchName;

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TestState {
    // In the order in which tests are told.
    Failed,
    Passed,
    Skipped,
}

/// What is known of a test besides how it ended.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TestVerdict {
    /// It failed here and passed in the latest run of the base that has it.
    New,
    /// It passed and failed on the same tree.
    Flaky,
    /// It failed in the latest run of the base too.
    Known,
}

/// One test. `suite` and `name` together are its identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCase {
    /// Empty where the producer names none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suite: String,
    pub name: String,
    pub state: TestState,
    /// `new`, `flaky` or `known`, where one of them applies. `flaky` is also what a producer says of a test that it ran
    /// again and that passed then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<TestVerdict>,
    /// Why it failed or was skipped, without terminal escapes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// As the producer writes it: relative to where it ran, or absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
}

/// What a run that tests was asked for with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestSpec {
    /// The branch whose latest run tells new failures from known ones; the default branch if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<BranchName>,
    /// Compared with no branch, since the caller may not see the default branch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_base: bool,
    /// The report files that the tests write, where the caller named them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<String>,
}

/// The tests of a run, those that failed first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestReport {
    pub counts: TestCounts,
    pub tests: Vec<TestCase>,
    /// Tests that are counted and not listed, because the producer did not name them or there were too many.
    #[serde(default)]
    pub left_out: u64,
}

/// How many tests there were. `new` and `known` ones are among those that failed, `flaky` ones among all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestCounts {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Failed, and passed in the base.
    #[serde(default)]
    pub new: u64,
    /// Failed, as in the base.
    #[serde(default)]
    pub known: u64,
    /// Passed and failed on the same tree.
    #[serde(default)]
    pub flaky: u64,
}

impl TestCounts {
    /// Of those whose state is known, which are all.
    pub fn total(&self) -> u64 {
        self.passed
            .saturating_add(self.failed)
            .saturating_add(self.skipped)
    }

    pub fn state_mut(&mut self, state: TestState) -> &mut u64 {
        match state {
            TestState::Passed => &mut self.passed,
            TestState::Failed => &mut self.failed,
            TestState::Skipped => &mut self.skipped,
        }
    }
}

/// Saturating: a log may claim any number.
impl Add for TestCounts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
            new: self.new.saturating_add(other.new),
            known: self.known.saturating_add(other.known),
            flaky: self.flaky.saturating_add(other.flaky),
        }
    }
}

impl TestCase {
    /// A test of which nothing else is known.
    pub fn new(suite: impl Into<String>, name: impl Into<String>, state: TestState) -> Self {
        Self {
            suite: suite.into(),
            name: name.into(),
            state,
            verdict: None,
            message: None,
            file: None,
            line: None,
            ms: None,
        }
    }

    pub fn is_flaky(&self) -> bool {
        self.verdict == Some(TestVerdict::Flaky)
    }
}

/// `2 failed (1 new), 40 passed, 3 skipped`
impl fmt::Display for TestCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |parts: &[(u64, &str)]| {
            let some = parts.iter().filter(|(count, _)| *count > 0);
            let some: Vec<_> = some
                .map(|(count, name)| format!("{count} {name}"))
                .collect();
            some.join(", ")
        };
        write!(f, "{} failed", self.failed)?;
        let verdicts = [
            (self.new, "new"),
            (self.known, "known"),
            (self.flaky, "flaky"),
        ];
        match named(&verdicts) {
            none if none.is_empty() => {}
            some => write!(f, " ({some})")?,
        }
        write!(f, ", {} passed", self.passed)?;
        match self.skipped {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped"),
        }
    }
}

/// `src/a.rs:3: failed (new): suite name: message`, the message in one line.
impl fmt::Display for TestCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.file, self.line) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: ")?,
            (Some(file), None) => write!(f, "{file}: ")?,
            (None, _) => {}
        }
        f.write_str(match self.state {
            TestState::Failed => "failed",
            TestState::Passed => "passed",
            TestState::Skipped => "skipped",
        })?;
        f.write_str(match self.verdict {
            Some(TestVerdict::New) => " (new)",
            Some(TestVerdict::Flaky) => " (flaky)",
            Some(TestVerdict::Known) => " (known)",
            None => "",
        })?;
        let suite = if self.suite.is_empty() { "" } else { " " };
        write!(f, ": {}{suite}{}", self.suite, self.name)?;
        let mut words = self.message.iter().flat_map(|message| message.lines());
        match words.find(|line| !line.trim().is_empty()) {
            Some(line) => write!(f, ": {}", line.trim()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_and_their_counts_are_words() {
        let mut counts = TestCounts {
            passed: 40,
            ..TestCounts::default()
        };
        assert_eq!(counts.to_string(), "0 failed, 40 passed");
        (counts.failed, counts.skipped, counts.new, counts.flaky) = (2, 3, 1, 1);
        let words = "2 failed (1 new, 1 flaky), 40 passed, 3 skipped";
        assert_eq!(counts.to_string(), words);
        let mut test = TestCase {
            suite: "s".to_owned(),
            name: "n".to_owned(),
            state: TestState::Failed,
            verdict: Some(TestVerdict::New),
            message: Some("\n  first\nsecond".to_owned()),
            file: Some("a.rs".to_owned()),
            line: Some(3),
            ms: None,
        };
        assert_eq!(test.to_string(), "a.rs:3: failed (new): s n: first");
        (test.suite, test.message, test.file) = (String::new(), None, None);
        assert_eq!(test.to_string(), "failed (new): n");
    }
}
