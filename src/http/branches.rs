//! Branches and their workspaces: list, describe, prepare, remove, pin.

use std::borrow::Cow;

use axum::Json;
use axum::http::StatusCode;
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::audit::Noted;
use super::extract::{At, Body, BranchAt, Params, RepoAt};
use super::listed::{Listed, limit};
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, With, does, reads};
use crate::app::{Activity, AuthorizedApp, LastRun, Unavailable, activity, branches, reaper, runs};
use branchyard_model::{BranchName, Problem, RepoName, Salvage, Scope, Warning};
use branchyard_workspace::{Description, Going};

const BRANCH: &str = "/api/repos/{repo}/branches/{branch}";
const ACTIVITY: &str = "/api/repos/{repo}/branches/{branch}/activity";
const PIN: &str = "/api/repos/{repo}/branches/{branch}/pin";

pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("listBranches", "List workspaces")
            .says(
                "By name. `remote` adds the branches that only the remote has. `unavailable` names \
                 workspaces that do not answer or are damaged.",
            )
            .gives("A page of them.")
            .get("/api/repos/{repo}/branches", Needs(Scope::RepoRead), list),
        reads("showBranch", "Describe a workspace")
            .says("It never makes one.")
            .gives("The workspace, and how it was last built.")
            .get(BRANCH, Needs(Scope::RepoRead), show),
        reads("showActivity", "Who works on a branch")
            .says("Within a day: what each caller did last there, and who waits for the workspace.")
            .gives("The callers, the latest first.")
            .get(ACTIVITY, Needs(Scope::RepoRead), show_activity),
        does("branch.prepare", "prepareBranch", "Make a workspace ready")
            .says(
                "Makes it if there is none, and the branch too where `from` says so; brings it up \
                 to date.",
            )
            .gives("The workspace.")
            .put(BRANCH, Needs(Scope::GitWrite), prepare),
        does("branch.remove", "removeBranch", "Remove a workspace")
            .says(
                "Refused where there is work in it, unless `force` has that saved. The remote \
                 branch is not touched.",
            )
            .or::<Removed>(200, "It is gone, and something of it was saved.")
            .only(204, "It is gone, and there was nothing to save.")
            .delete(BRANCH, Needs(Scope::GitWrite), remove),
        does(
            "branch.pin",
            "pinBranch",
            "Keep a workspace from being reaped or removed",
        )
        .gives("The workspace.")
        .put(PIN, Needs(Scope::GitWrite), pin),
        does("branch.unpin", "unpinBranch", "Let a workspace go again")
            .gives("It is not pinned, whether it was or not.")
            .delete(PIN, Needs(Scope::GitWrite), unpin),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParams {
    /// Also the branches that only the remote has.
    #[serde(default)]
    remote: bool,
    /// The `next` of the page before.
    after: Option<BranchName>,
    /// How many at a time; 100 if left out, and never more than 500.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

/// To describe a workspace is to look at all its files.
const DEFAULT_PAGE: usize = 100;

async fn list(
    app: AuthorizedApp,
    At(repo): RepoAt,
    Params(params): Params<ListParams>,
) -> HttpResult<Json<Workspaces>> {
    let limit = limit(params.limit, DEFAULT_PAGE)?;
    let (remote, after) = (params.remote, params.after.as_ref());
    let page = branches::branches_after(&app, &repo, remote, after, limit).await?;
    let branches = page.items.iter().map(|workspace| workspace.branch.clone());
    let mut last_runs = runs::last_runs(&app, &repo, branches.collect()).await?;
    let items = page.items.into_iter().map(|workspace| Shown {
        last_run: last_runs.remove(&workspace.branch),
        workspace,
    });
    Ok(Json(Workspaces {
        page: Listed::page(items.collect(), page.next),
        unavailable: page.unavailable,
        notice: page.notice.map(Into::into),
    }))
}

/// A page of workspaces.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "WorkspaceList")]
pub struct Workspaces {
    #[serde(flatten)]
    pub page: Listed<Shown, BranchName>,
    /// Workspaces that should be on this page and cannot be described; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unavailable: Vec<Unavailable>,
    /// Why the remote adds nothing: it is empty, or has tags alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<Cow<'static, str>>,
}

/// A workspace, and how it was last built.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Workspace")]
pub struct Shown {
    #[serde(flatten)]
    pub workspace: Description,
    pub last_run: Option<LastRun>,
}

async fn show(app: AuthorizedApp, At((repo, branch)): BranchAt) -> HttpResult<Json<Shown>> {
    let workspace = branches::describe(&app, &repo, &branch).await?;
    let mut last = runs::last_runs(&app, &repo, vec![branch.clone()]).await?;
    Ok(Json(Shown {
        workspace,
        last_run: last.remove(&branch),
    }))
}

async fn show_activity(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
) -> HttpResult<Json<Activity>> {
    Ok(Json(activity::activity(&app, &repo, &branch).await?))
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrepareBody {
    /// As in the path.
    #[serde(default)]
    pub repo: Option<RepoName>,
    /// As in the path.
    #[serde(default)]
    pub branch: Option<BranchName>,
    /// A branch or commit at which to create the branch.
    #[serde(default)]
    pub from: Option<String>,
}

/// A workspace that was made ready.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PreparedWorkspace")]
pub struct Ready {
    #[serde(flatten)]
    pub workspace: Description,
    /// What one should know, though it was done.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

async fn prepare(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
    Body(body): Body<PrepareBody>,
) -> HttpResult<Json<Ready>> {
    if body.repo.is_some_and(|given| given != repo)
        || body.branch.is_some_and(|given| given != branch)
    {
        let detail = "repo and branch must be those of the path";
        return Err(Problem::unprocessable("branch", detail).into());
    }
    let from = body.from.as_deref();
    let (workspace, warnings) = branches::prepare(&app, &repo, &branch, from).await?;
    Ok(Json(Ready {
        workspace,
        warnings,
    }))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RemoveParams {
    /// Work in it is saved, and it goes all the same.
    #[serde(default)]
    force: bool,
}

/// What was saved of a workspace that went.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Removed {
    pub salvage: Salvage,
}

async fn remove(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
    noted: Noted,
    Params(params): Params<RemoveParams>,
) -> HttpResult {
    let going = match params.force {
        true => Going::Forced,
        false => Going::Unmissed,
    };
    let saved = branches::remove(&app, &repo, &branch, going).await?;
    Ok(match saved {
        Some(salvage) => {
            noted.touched("salvage", &salvage.id.to_string());
            Json(Removed { salvage }).into_response()
        }
        None => StatusCode::NO_CONTENT.into_response(),
    })
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PinBody {
    /// Why it is to be kept, for those who wonder.
    #[serde(default)]
    #[schemars(length(max = 500))]
    pub reason: Option<String>,
}

async fn pin(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
    Body(body): Body<PinBody>,
) -> HttpResult<Json<Description>> {
    Ok(Json(reaper::pin(&app, &repo, &branch, body.reason).await?))
}

async fn unpin(app: AuthorizedApp, At((repo, branch)): BranchAt) -> HttpResult<With<204, ()>> {
    reaper::unpin(&app, &repo, &branch).await?;
    Ok(With(()))
}
