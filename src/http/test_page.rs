//! Tests of a run or of a job, page by page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::listed::limit;
use branchyard_model::{Problem, TestCase, TestCounts, TestReport, TestState, TestVerdict};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TestParams {
    /// Only tests in this state.
    state: Option<TestState>,
    /// Only tests of this verdict.
    verdict: Option<TestVerdict>,
    /// The `next` of the page before.
    #[serde(default)]
    from: usize,
    /// How many at a time; 50 if left out, and never more than 500.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

const DEFAULT_PAGE: usize = 50;

/// A page of the tests of a run or of a job.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct TestPage {
    /// Of all tests, also of those that were not asked for.
    pub counts: TestCounts,
    pub items: Vec<TestCase>,
    /// Tests that are counted and listed nowhere, because the producer did not name them or there were too many.
    pub left_out: u64,
    /// Where the next page begins; `null` on the last.
    pub next: Option<usize>,
}

impl TestParams {
    pub(super) fn page(&self, report: TestReport) -> Result<TestPage, Problem> {
        let limit = limit(self.limit, DEFAULT_PAGE)?;
        let is_wanted = |test: &TestCase| {
            self.state.is_none_or(|state| test.state == state)
                && (self.verdict.is_none() || test.verdict == self.verdict)
        };
        let mut wanted = report.tests.into_iter().filter(is_wanted).skip(self.from);
        let items: Vec<_> = wanted.by_ref().take(limit).collect();
        let next = wanted.next().map(|_| self.from + items.len());
        Ok(TestPage {
            counts: report.counts,
            items,
            left_out: report.left_out,
            next,
        })
    }
}
