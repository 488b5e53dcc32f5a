//! The tests of a repository over time.

use axum::Json;
use schemars::JsonSchema;
use serde::Deserialize;

use super::extract::{At, Params, RepoAt};
use super::listed::{Listed, limit};
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, reads};
use crate::app::AuthorizedApp;
use crate::app::test_history::{self, TestHistoryFilter};
use branchyard_model::{BranchName, Scope, TestHistory, TestState};

const DEFAULT_PAGE: usize = 50;

pub(super) fn routes() -> Vec<Route> {
    vec![
        reads(
            "listTestHistory",
            "List the tests of a repository, as they went of late",
        )
        .gives("A page of them: those that fail first, then flaky ones.")
        .get("/api/repos/{repo}/tests", Needs(Scope::RepoRead), list),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TestHistoryParams {
    /// Only results of this branch count. Without it a test is in the state that it was last in on any branch.
    branch: Option<BranchName>,
    /// Only tests that ended so last.
    state: Option<TestState>,
    /// Only tests that are flaky; with `false` only those that are not.
    flaky: Option<bool>,
    /// Only tests with this in their suite or name, in any case.
    q: Option<String>,
    /// The `next` of the page before.
    #[serde(default)]
    from: usize,
    /// How many at a time; 50 if left out, and never more than 500.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

async fn list(
    app: AuthorizedApp,
    At(repo): RepoAt,
    Params(params): Params<TestHistoryParams>,
) -> HttpResult<Json<Listed<TestHistory, usize>>> {
    let page = (params.from, limit(params.limit, DEFAULT_PAGE)?);
    let filter = TestHistoryFilter {
        branch: params.branch,
        state: params.state,
        flaky: params.flaky,
        q: params.q,
    };
    let (items, next) = test_history::list(&app, &repo, filter, page).await?;
    Ok(Json(Listed::page(items, next)))
}
