//! What is on disk against what should be: told, mended; and maintenance.

use axum::Json;
use serde_json::{Value, json};

use super::extract::RepoAt;
use super::problem::ProblemResponse;
use crate::app::Desk;
use crate::repos::Maintained;

pub(super) async fn list(desk: Desk) -> Result<Json<Value>, ProblemResponse> {
    let items = desk.findings().await?;
    Ok(Json(json!({ "items": items, "next": null })))
}

pub(super) async fn mend(desk: Desk) -> Result<Json<Value>, ProblemResponse> {
    let items = desk.mend_findings().await?;
    Ok(Json(json!({ "items": items, "next": null })))
}

pub(super) async fn maintain(
    desk: Desk,
    RepoAt(repo): RepoAt,
) -> Result<Json<Maintained>, ProblemResponse> {
    Ok(Json(desk.maintain(&repo).await?))
}
