//! Repositories: list, register, show, forget.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::extract::{Body, RepoAt};
use super::problem::ProblemResponse;
use crate::app::{App, RepoSummary};
use crate::repos::Registration;

pub(super) async fn list(State(app): State<App>) -> Json<Value> {
    let items: Vec<_> = app
        .repos
        .list()
        .iter()
        .map(|repo| app.repo_summary(repo))
        .collect();
    Json(json!({ "items": items, "next": null }))
}

pub(super) async fn register(
    State(app): State<App>,
    Body(registration): Body<Registration>,
) -> Result<(StatusCode, Json<RepoSummary>), ProblemResponse> {
    let repo = app.register(&registration)?;
    Ok((StatusCode::CREATED, Json(app.repo_summary(&repo))))
}

pub(super) async fn show(
    State(app): State<App>,
    RepoAt(name): RepoAt,
) -> Result<Json<RepoSummary>, ProblemResponse> {
    let repo = app.repos.get(&name)?;
    Ok(Json(app.repo_summary(&repo)))
}

pub(super) async fn remove(
    State(app): State<App>,
    RepoAt(name): RepoAt,
) -> Result<StatusCode, ProblemResponse> {
    app.remove_repo(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
