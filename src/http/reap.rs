//! Making room, and pinning what is to be kept.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Asker, Body, BranchAt, Params};
use super::problem::ProblemResponse;
use crate::app::App;
use crate::model::RepoName;
use crate::workspace::{Description, Reaping};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReapParams {
    /// Only say what would be done.
    #[serde(default)]
    dry_run: bool,
    /// Only this repository.
    #[serde(default)]
    repo: Option<RepoName>,
}

pub(super) async fn reap(
    State(app): State<App>,
    Params(params): Params<ReapParams>,
) -> Result<Json<Reaping>, ProblemResponse> {
    Ok(Json(app.reap(params.dry_run, params.repo).await?))
}

pub(super) async fn reaped(State(app): State<App>) -> Json<Value> {
    let (items, next_pass) = app.reaper.recent();
    Json(json!({ "items": items, "next": null, "next_pass": next_pass }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PinBody {
    /// Why it is to be kept, for those who wonder.
    #[serde(default)]
    reason: Option<String>,
}

pub(super) async fn pin(
    State(app): State<App>,
    BranchAt(repo, branch): BranchAt,
    Asker(principal): Asker,
    Body(body): Body<PinBody>,
) -> Result<Json<Description>, ProblemResponse> {
    Ok(Json(
        app.pin(&principal, &repo, &branch, body.reason).await?,
    ))
}

pub(super) async fn unpin(
    State(app): State<App>,
    BranchAt(repo, branch): BranchAt,
) -> Result<StatusCode, ProblemResponse> {
    app.unpin(&repo, &branch).await?;
    Ok(StatusCode::NO_CONTENT)
}
