//! Tests over time, by results on branches that are to be seen.

use super::AuthorizedApp;
use super::pipelines::blocking;
use branchyard_db::run_index::TestedBranches;
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, TestHistory, TestState};
use branchyard_runs::test_index;

/// Which tests of a repo are wanted.
#[derive(Debug, Clone, Default)]
pub struct TestHistoryFilter {
    /// Only results of this branch count. Without it a test is in the state that it was last in on any branch.
    pub branch: Option<BranchName>,
    /// Only tests that ended so last.
    pub state: Option<TestState>,
    /// Only tests that are flaky, or only those that are not.
    pub flaky: Option<bool>,
    /// Only tests with this in their suite or name, in any case.
    pub q: Option<String>,
}

impl TestHistoryFilter {
    fn takes(&self, test: &TestHistory) -> bool {
        let is_named = |q: &String| {
            let texts = [&test.suite, &test.name];
            texts
                .iter()
                .any(|text| text.to_lowercase().contains(&q.to_lowercase()))
        };
        self.state.is_none_or(|state| state == test.state)
            && self.flaky.is_none_or(|flaky| flaky == test.flaky)
            && self.q.as_ref().is_none_or(is_named)
    }
}

/// Tests of a repo by `filter`, those that fail first, `limit` of them from that place on; and where the next page begins.
pub async fn list(
    app: &AuthorizedApp,
    repo: &RepoName,
    filter: TestHistoryFilter,
    (from, limit): (usize, usize),
) -> Result<(Vec<TestHistory>, Option<usize>), Problem> {
    let known = app.repo(repo)?;
    if let Some(branch) = &filter.branch {
        app.check(repo, branch)?;
    }
    let base = known.default_branch();
    let of = TestedBranches {
        branch: filter.branch.clone(),
        base: base.and_then(|base| BranchName::parse(&base).ok()),
    };
    let (runs, principal) = (app.yard().runs.clone(), app.principal().clone());
    let repo = repo.clone();
    blocking(move || {
        let is_seen = |branch: &BranchName| principal.sees(&repo, branch);
        let found = test_index(&runs).history(&repo, &of, is_seen);
        let mut found = found.map_err(|error| {
            let detail = format!("the tests of the repo cannot be read: {error}");
            Problem::new(ErrorKind::Internal, "tests_unreadable", detail)
        })?;
        found.retain(|test| filter.takes(test));
        if principal.require_all_branches().is_err() {
            // One for each test is kept, which may be that of another branch.
            found.iter_mut().for_each(|test| test.file = None);
        }
        let next = from.saturating_add(limit);
        let is_more = next < found.len();
        let items = found.into_iter().skip(from).take(limit).collect();
        Ok((items, is_more.then_some(next)))
    })
    .await
}
