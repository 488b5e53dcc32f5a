//! Tests over time, of which `pipelines` tells.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::test_history::{self, TestHistoryFilter};
use crate::mcp::call::Call;
use crate::mcp::reply::{Reply, fitted_items};
use branchyard_model::{
    BranchName, CommitId, PipelineId, Problem, RepoName, RunId, TestHistory, TestState, TestedBy,
};

/// Tests on one page, where they fit.
const PAGE: usize = 100;

/// Which tests are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ListedTests {
    Failed,
    Flaky,
    All,
}

#[derive(Debug, Serialize)]
struct ListedTestPage<'a> {
    tests: Vec<ListedTest<'a>>,
    truncated: bool,
    next_cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ListedTest<'a> {
    suite: &'a str,
    name: &'a str,
    state: TestState,
    flaky: bool,
    /// It passes on the default branch.
    new: bool,
    passed: u64,
    failed: u64,
    /// Where it ran last.
    branch: &'a BranchName,
    /// The first commit at which it failed, if it does.
    failing_since: Option<&'a CommitId>,
    pipeline_id: Option<PipelineId>,
    job: Option<&'a str>,
    run_id: Option<RunId>,
}

pub(super) async fn list(
    call: &Call,
    (repo, branch): (RepoName, Option<BranchName>),
    wanted: ListedTests,
    cursor: Option<&str>,
) -> Result<Reply, Problem> {
    let from = match cursor.map(str::parse) {
        None => 0,
        Some(Ok(from)) => from,
        Some(Err(_)) => {
            return Err(
                Problem::unprocessable("cursor", "this is no cursor of a list of tests")
                    .help("give the next_cursor of the answer before, or none"),
            );
        }
    };
    let filter = TestHistoryFilter {
        branch,
        state: (wanted == ListedTests::Failed).then_some(TestState::Failed),
        flaky: (wanted == ListedTests::Flaky).then_some(true),
        q: None,
    };
    let listing = test_history::list(call.app(), &repo, filter, (from, PAGE));
    let (found, next) = call.in_time(listing).await?;
    fitted_items(found.len(), |count| {
        let truncated = next.is_some() || count < found.len();
        let page = ListedTestPage {
            tests: found[..count].iter().map(item).collect(),
            truncated,
            next_cursor: truncated.then(|| (from + count).to_string()),
        };
        call.reply(&page, found[..count].iter().map(line).collect::<String>())
    })
}

fn item(test: &TestHistory) -> ListedTest<'_> {
    let (pipeline_id, job, run_id) = match &test.last.by {
        TestedBy::Job {
            pipeline_id, job, ..
        } => (Some(*pipeline_id), Some(job.as_str()), None),
        TestedBy::Run { run_id } => (None, None, Some(*run_id)),
    };
    ListedTest {
        suite: &test.suite,
        name: &test.name,
        state: test.state,
        flaky: test.flaky,
        new: test.new,
        passed: test.passed,
        failed: test.failed,
        branch: &test.last.branch,
        failing_since: failing_since(test),
        pipeline_id,
        job,
        run_id,
    }
}

fn failing_since(test: &TestHistory) -> Option<&CommitId> {
    test.failing_since.as_ref()?.commit.as_ref()
}

/// `failed (new), flaky: suite name: 3 of 20 failed, since 1a2b…, ci.yml test on main`
fn line(test: &TestHistory) -> String {
    let state = match test.state {
        TestState::Failed if test.new => "failed (new)",
        TestState::Failed => "failed",
        TestState::Passed => "passed",
        TestState::Skipped => "skipped",
    };
    let flaky = if test.flaky { ", flaky" } else { "" };
    let space = if test.suite.is_empty() { "" } else { " " };
    let since = failing_since(test).map(|commit| format!(", since {commit}"));
    let (failed, all) = (test.failed, test.passed + test.failed + test.skipped);
    format!(
        "{state}{flaky}: {}{space}{}: {failed} of {all} failed{}, {} on {}\n",
        test.suite,
        test.name,
        since.unwrap_or_default(),
        test.last.by,
        test.last.branch,
    )
}
