//! What is on disk against what should be: told, mended; and maintenance.

use axum::Json;
use schemars::JsonSchema;
use serde::Serialize;

use super::extract::RepoAt;
use super::listed::Listed;
use super::problem::ProblemResponse;
use crate::app::{AuthorizedApp, inconsistencies};
use branchyard_workspace::repos::Maintained;
use branchyard_workspace::{Finding, Mended};

/// What is amiss, and what was.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Amiss {
    #[serde(flatten)]
    now: Listed<Finding>,
    /// What was amiss when the daemon started, and what it did about it.
    mended_at_start: Vec<Mended>,
}

pub(super) async fn list(app: AuthorizedApp) -> Result<Json<Amiss>, ProblemResponse> {
    let found = inconsistencies::findings(&app).await?;
    Ok(Json(Amiss {
        now: Listed::all(found.now),
        mended_at_start: found.mended_at_start,
    }))
}

pub(super) async fn mend(app: AuthorizedApp) -> Result<Json<Listed<Mended>>, ProblemResponse> {
    Ok(Json(Listed::all(
        inconsistencies::mend_findings(&app).await?,
    )))
}

pub(super) async fn maintain(
    app: AuthorizedApp,
    RepoAt(repo): RepoAt,
) -> Result<Json<Maintained>, ProblemResponse> {
    Ok(Json(inconsistencies::maintain(&app, &repo).await?))
}
