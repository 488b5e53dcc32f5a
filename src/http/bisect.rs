//! Bisects: started here, and followed, shown, cancelled and retried as the pipelines that they are.

use axum::http::HeaderMap;

use super::extract::{At, Body, RepoAt};
use super::negotiate::idempotency_key;
use super::pipelines::{Started, started};
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, does};
use super::streams::IDEMPOTENCY_KEY;
use crate::app::{AuthorizedApp, pipelines};
use branchyard_model::Scope;
use branchyard_pipelines::BisectRequest;

pub(super) fn routes() -> Vec<Route> {
    vec![
        does(
            "bisect",
            "startBisect",
            "Look for the first bad commit between two; `argv` needs `code:run`",
        )
        .gives("The pipeline that tests the commits, as it is now: `bisect` has the answer at its end.")
        .headers(&[IDEMPOTENCY_KEY])
        .post("/api/repos/{repo}/bisect", Needs(Scope::BuildRun), start),
    ]
}

async fn start(
    app: AuthorizedApp,
    At(repo): RepoAt,
    headers: HeaderMap,
    Body(request): Body<BisectRequest>,
) -> HttpResult<Started> {
    let key = idempotency_key(&headers)?;
    let id = pipelines::start_bisect(&app, &repo, request, key).await?;
    started(&app, id)
}
