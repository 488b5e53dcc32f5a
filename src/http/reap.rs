//! Making room, and pinning what is to be kept.

use axum::Json;
use axum::http::StatusCode;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::audit::Noted;
use super::extract::{Body, BranchAt, Params};
use super::listed::Listed;
use super::problem::ProblemResponse;
use crate::app::{AuthorizedApp, reaper};
use branchyard_model::RepoName;
use branchyard_workspace::{Description, Reaped, Reaping};

#[derive(Debug, Deserialize, JsonSchema)]
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
    app: AuthorizedApp,
    noted: Noted,
    Params(params): Params<ReapParams>,
) -> Result<Json<Reaping>, ProblemResponse> {
    noted.at(params.repo.as_ref(), None);
    if params.dry_run {
        noted.looks();
    }
    Ok(Json(reaper::reap(&app, params.dry_run, params.repo).await?))
}

/// What went lately, the latest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReapedList")]
pub(super) struct Lately {
    #[serde(flatten)]
    list: Listed<Reaped>,
    /// When is looked again.
    next_pass: Option<Timestamp>,
}

pub(super) async fn reaped(app: AuthorizedApp) -> Result<Json<Lately>, ProblemResponse> {
    let (items, next_pass) = reaper::reaped(&app)?;
    Ok(Json(Lately {
        list: Listed::all(items),
        next_pass,
    }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PinBody {
    /// Why it is to be kept, for those who wonder.
    #[serde(default)]
    #[schemars(length(max = 500))]
    reason: Option<String>,
}

pub(super) async fn pin(
    app: AuthorizedApp,
    BranchAt(repo, branch): BranchAt,
    Body(body): Body<PinBody>,
) -> Result<Json<Description>, ProblemResponse> {
    Ok(Json(reaper::pin(&app, &repo, &branch, body.reason).await?))
}

pub(super) async fn unpin(
    app: AuthorizedApp,
    BranchAt(repo, branch): BranchAt,
) -> Result<StatusCode, ProblemResponse> {
    reaper::unpin(&app, &repo, &branch).await?;
    Ok(StatusCode::NO_CONTENT)
}
