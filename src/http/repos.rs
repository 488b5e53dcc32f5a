//! Repositories: list, register, show, forget.

use axum::Json;
use axum::http::StatusCode;

use super::audit::Noted;
use super::extract::{Body, RepoAt};
use super::listed::Listed;
use super::problem::ProblemResponse;
use crate::app::{Desk, RepoSummary};
use branchyard_workspace::repos::Registration;

pub(super) async fn list(desk: Desk) -> Json<Listed<RepoSummary>> {
    let repos = desk.repos();
    let items = repos.iter().map(|repo| desk.repo_summary(repo));
    Json(Listed::all(items.collect()))
}

pub(super) async fn register(
    desk: Desk,
    noted: Noted,
    Body(registration): Body<Registration>,
) -> Result<(StatusCode, Json<RepoSummary>), ProblemResponse> {
    noted.at(Some(&registration.name), None);
    let repo = desk.register(&registration).await?;
    Ok((StatusCode::CREATED, Json(desk.repo_summary(&repo))))
}

pub(super) async fn show(
    desk: Desk,
    RepoAt(name): RepoAt,
) -> Result<Json<RepoSummary>, ProblemResponse> {
    let repo = desk.repo(&name)?;
    Ok(Json(desk.repo_summary(&repo)))
}

pub(super) async fn remove(
    desk: Desk,
    RepoAt(name): RepoAt,
) -> Result<StatusCode, ProblemResponse> {
    desk.remove_repo(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
