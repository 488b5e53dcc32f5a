//! What is on disk against what should be: told, mended; and maintenance.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::extract::RepoAt;
use super::problem::ProblemResponse;
use crate::app::App;
use crate::repos::Maintained;

pub(super) async fn list(State(app): State<App>) -> Result<Json<Value>, ProblemResponse> {
    let items = app.findings().await?;
    Ok(Json(json!({ "items": items, "next": null })))
}

pub(super) async fn mend(State(app): State<App>) -> Result<Json<Value>, ProblemResponse> {
    let items = app.mend_findings().await?;
    Ok(Json(json!({ "items": items, "next": null })))
}

pub(super) async fn maintain(
    State(app): State<App>,
    RepoAt(repo): RepoAt,
) -> Result<Json<Maintained>, ProblemResponse> {
    Ok(Json(app.maintain(&repo).await?))
}
