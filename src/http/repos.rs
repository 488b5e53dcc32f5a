//! Repositories: list, register, show, forget.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use serde_json::{Value, json};

use super::extract::{Body, RepoAt};
use super::problem::ProblemResponse;
use crate::app::App;
use crate::repos::{Registration, Repo};

pub(super) async fn list(State(app): State<App>) -> Json<Value> {
    let items: Vec<_> = app
        .repos
        .list()
        .iter()
        .map(|repo| shown(&app, repo))
        .collect();
    Json(json!({ "items": items, "next": null }))
}

pub(super) async fn register(
    State(app): State<App>,
    Body(registration): Body<Registration>,
) -> Result<(StatusCode, Json<Value>), ProblemResponse> {
    let repo = app.register(&registration)?;
    Ok((StatusCode::CREATED, Json(shown(&app, &repo))))
}

pub(super) async fn show(
    State(app): State<App>,
    RepoAt(name): RepoAt,
) -> Result<Json<Value>, ProblemResponse> {
    let repo = app.repos.get(&name)?;
    Ok(Json(shown(&app, &repo)))
}

pub(super) async fn remove(
    State(app): State<App>,
    RepoAt(name): RepoAt,
) -> Result<StatusCode, ProblemResponse> {
    app.remove_repo(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn shown(app: &App, repo: &Repo) -> Value {
    let tasks: Vec<_> = repo.config.tasks.keys().map(|task| task.as_str()).collect();
    json!({
        "name": repo.name,
        "url": repo.config.url.as_str(),
        "default_branch": repo.default_branch(),
        "source": repo.source,
        "cloned": repo.is_cloned(),
        "workspaces": app.workspaces.on_disk(repo).len(),
        "tasks": tasks,
    })
}
