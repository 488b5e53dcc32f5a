//! Branches and their workspaces: list, describe, prepare, remove.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::audit::Noted;
use super::extract::{Body, BranchAt, Params, RepoAt};
use super::problem::ProblemResponse;
use crate::app::{Desk, LastRun};
use crate::model::{BranchName, Problem, RepoName};
use crate::workspace::{Description, Going};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListParams {
    /// Also the branches that only the remote has.
    #[serde(default)]
    remote: bool,
    /// The `next` of the page before.
    after: Option<BranchName>,
    limit: Option<usize>,
}

/// To describe a workspace is to look at all its files.
const DEFAULT_PAGE: usize = 100;
const MAX_PAGE: usize = 500;

pub(super) async fn list(
    desk: Desk,
    RepoAt(repo): RepoAt,
    Params(params): Params<ListParams>,
) -> Result<Json<Value>, ProblemResponse> {
    let limit = params.limit.unwrap_or(DEFAULT_PAGE).min(MAX_PAGE);
    if limit == 0 {
        return Err(Problem::unprocessable("limit", "limit must be at least 1").into());
    }
    let (items, next) = desk
        .branches_after(&repo, params.remote, params.after.as_ref(), limit)
        .await?;
    let items = with_last_runs(&desk, &repo, items).await?;
    Ok(Json(json!({ "items": items, "next": next })))
}

/// A workspace, and how it was last built.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Shown {
    #[serde(flatten)]
    workspace: Description,
    last_run: Option<LastRun>,
}

async fn with_last_runs(
    desk: &Desk,
    repo: &RepoName,
    workspaces: Vec<Description>,
) -> Result<Vec<Shown>, Problem> {
    let branches = workspaces.iter().map(|workspace| workspace.branch.clone());
    let last = desk.last_runs(repo, branches.collect()).await?;
    let shown = workspaces.into_iter().zip(last);
    Ok(shown
        .map(|(workspace, last_run)| Shown {
            workspace,
            last_run,
        })
        .collect())
}

pub(super) async fn show(
    desk: Desk,
    BranchAt(repo, branch): BranchAt,
) -> Result<Json<Shown>, ProblemResponse> {
    let workspace = desk.describe(&repo, &branch).await?;
    let last = desk.last_runs(&repo, vec![branch]).await?;
    Ok(Json(Shown {
        workspace,
        last_run: last.into_iter().next().flatten(),
    }))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PrepareBody {
    #[serde(default)]
    repo: Option<RepoName>,
    #[serde(default)]
    branch: Option<BranchName>,
    /// A branch or commit at which to create the branch.
    #[serde(default)]
    from: Option<String>,
}

pub(super) async fn prepare(
    desk: Desk,
    BranchAt(repo, branch): BranchAt,
    Body(body): Body<PrepareBody>,
) -> Result<Json<Value>, ProblemResponse> {
    if body.repo.is_some_and(|given| given != repo)
        || body.branch.is_some_and(|given| given != branch)
    {
        return Err(
            Problem::unprocessable("branch", "repo and branch must be those of the path").into(),
        );
    }
    let (description, warnings) = desk.prepare(&repo, &branch, body.from.as_deref()).await?;
    let mut answer = json!(description);
    answer["warnings"] = json!(warnings);
    Ok(Json(answer))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoveParams {
    /// Work in it is saved, and it goes all the same.
    #[serde(default)]
    force: bool,
}

pub(super) async fn remove(
    desk: Desk,
    BranchAt(repo, branch): BranchAt,
    noted: Noted,
    Params(params): Params<RemoveParams>,
) -> Result<Response, ProblemResponse> {
    let going = match params.force {
        true => Going::Forced,
        false => Going::Unmissed,
    };
    let saved = desk.remove(&repo, &branch, going).await?;
    Ok(match saved {
        Some(salvage) => {
            noted.touched("salvage", &salvage.id.to_string());
            Json(json!({ "salvage": salvage })).into_response()
        }
        None => StatusCode::NO_CONTENT.into_response(),
    })
}
