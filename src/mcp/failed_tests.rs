//! The tests that failed in a run or a job, as far as an answer has room for them.

use super::reply::cut;
use branchyard_model::{TestCase, TestReport, TestState};

/// So many are shown at once; the addresses of tests have them all.
const MOST: usize = 50;
/// What is shown of a name and of a message.
const NAME: usize = 1_000;
const MESSAGE: usize = 600;

#[derive(Debug, Default)]
pub(super) struct FailedTests(Vec<TestCase>);

impl FailedTests {
    pub(super) fn of(report: TestReport) -> Self {
        let failed = report.tests.into_iter();
        let failed = failed.take_while(|test| test.state == TestState::Failed);
        let mut failed: Vec<_> = failed.take(MOST).collect();
        for test in &mut failed {
            test.message = test.message.take().map(|text| cut(&text, MESSAGE));
            test.name = cut(&test.name, NAME);
        }
        Self(failed)
    }

    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// The first ones, as far as they fit into `room`, and about how much they take of it.
    pub(super) fn within(&self, room: usize) -> (&[TestCase], usize) {
        let (mut count, mut spent) = (0, 0);
        while count < self.0.len() && spent + size(&self.0[count]) <= room {
            spent += size(&self.0[count]);
            count += 1;
        }
        (&self.0[..count], spent)
    }
}

/// About what it takes of an answer.
fn size(test: &TestCase) -> usize {
    let texts = [&test.message, &test.file].into_iter().flatten();
    let texts: usize = texts.map(String::len).sum();
    100 + test.suite.len() + test.name.len() + texts
}

/// A line each, and the message below it.
pub(super) fn text(tests: &[TestCase]) -> String {
    let mut text = String::new();
    for test in tests {
        text.push_str(&format!("{test}\n"));
        // The first line of the message is in it.
        let message = test.message.as_deref().unwrap_or_default().trim_start();
        let rest = message.lines().skip(1).map(|line| format!("    {line}\n"));
        text.extend(rest);
    }
    text
}
