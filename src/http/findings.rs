//! What is on disk against what should be: told, mended; and maintenance.

use axum::Json;

use super::extract::RepoAt;
use super::listed::Listed;
use super::problem::ProblemResponse;
use crate::app::Desk;
use crate::repos::Maintained;
use crate::workspace::{Finding, Mended};

pub(super) async fn list(desk: Desk) -> Result<Json<Listed<Finding>>, ProblemResponse> {
    Ok(Json(Listed::all(desk.findings().await?)))
}

pub(super) async fn mend(desk: Desk) -> Result<Json<Listed<Mended>>, ProblemResponse> {
    Ok(Json(Listed::all(desk.mend_findings().await?)))
}

pub(super) async fn maintain(
    desk: Desk,
    RepoAt(repo): RepoAt,
) -> Result<Json<Maintained>, ProblemResponse> {
    Ok(Json(desk.maintain(&repo).await?))
}
