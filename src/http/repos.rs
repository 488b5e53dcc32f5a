//! Repositories: list, register, show, forget.

use axum::Json;
use axum::http::StatusCode;

use super::audit::Noted;
use super::extract::{Body, RepoAt};
use super::listed::Listed;
use super::problem::ProblemResponse;
use crate::app::{AuthorizedApp, RepoSummary, branches, repos};
use branchyard_workspace::repos::Registration;

pub(super) async fn list(app: AuthorizedApp) -> Json<Listed<RepoSummary>> {
    let repos = app.repos();
    let items = repos.iter().map(|repo| repos::repo_summary(&app, repo));
    Json(Listed::all(items.collect()))
}

pub(super) async fn register(
    app: AuthorizedApp,
    noted: Noted,
    Body(registration): Body<Registration>,
) -> Result<(StatusCode, Json<RepoSummary>), ProblemResponse> {
    noted.at(Some(&registration.name), None);
    let repo = branches::register(&app, &registration).await?;
    Ok((StatusCode::CREATED, Json(repos::repo_summary(&app, &repo))))
}

pub(super) async fn show(
    app: AuthorizedApp,
    RepoAt(name): RepoAt,
) -> Result<Json<RepoSummary>, ProblemResponse> {
    let repo = app.repo(&name)?;
    Ok(Json(repos::repo_summary(&app, &repo)))
}

pub(super) async fn remove(
    app: AuthorizedApp,
    RepoAt(name): RepoAt,
) -> Result<StatusCode, ProblemResponse> {
    branches::remove_repo(&app, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
