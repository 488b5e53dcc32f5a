//! Upkeep: what is on disk against what should be, told and mended; and making room.

use axum::Json;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::audit::Noted;
use super::extract::Params;
use super::listed::Listed;
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, does, reads};
use crate::app::{AuthorizedApp, inconsistencies, reaper};
use branchyard_model::{RepoName, Scope};
use branchyard_workspace::{Finding, Mended, Reaped, Reaping};

pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("listFindings", "What is on disk and should not be so")
            .gives("The differences. Nothing was changed.")
            .get("/api/findings", Needs(Scope::Ops), findings),
        does(
            "findings.mend",
            "mendFindings",
            "Mend what is on disk and should not be so",
        )
        .says("Nothing that somebody made is deleted by it.")
        .gives("The differences, and what was done about each.")
        .post("/api/findings/mend", Needs(Scope::Admin), mend),
        reads("listReaped", "What went lately")
            .gives("The latest first; forgotten with the daemon.")
            .get("/api/reap", Needs(Scope::Ops), reaped),
        does("reap", "reap", "Make room now, or say what would go")
            .gives("What was looked at, and what came of it.")
            .post("/api/reap", Needs(Scope::Ops), reap),
    ]
}

/// What is amiss, and what was.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Amiss {
    #[serde(flatten)]
    pub now: Listed<Finding>,
    /// What was amiss when the daemon started, and what it did about it.
    #[serde(default)]
    pub mended_at_start: Vec<Mended>,
}

async fn findings(app: AuthorizedApp) -> HttpResult<Json<Amiss>> {
    let found = inconsistencies::findings(&app).await?;
    Ok(Json(Amiss {
        now: Listed::all(found.now),
        mended_at_start: found.mended_at_start,
    }))
}

async fn mend(app: AuthorizedApp) -> HttpResult<Json<Listed<Mended>>> {
    let mended = inconsistencies::mend_findings(&app).await?;
    Ok(Json(Listed::all(mended)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReapParams {
    /// Only say what would be done.
    #[serde(default)]
    dry_run: bool,
    /// Only this repository.
    #[serde(default)]
    repo: Option<RepoName>,
}

async fn reap(
    app: AuthorizedApp,
    noted: Noted,
    Params(params): Params<ReapParams>,
) -> HttpResult<Json<Reaping>> {
    noted.at(params.repo.as_ref(), None);
    if params.dry_run {
        noted.looks();
    }
    Ok(Json(reaper::reap(&app, params.dry_run, params.repo).await?))
}

/// What went lately, the latest first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ReapedList")]
struct Lately {
    #[serde(flatten)]
    list: Listed<Reaped>,
    /// When is looked again.
    next_pass: Option<Timestamp>,
}

async fn reaped(app: AuthorizedApp) -> HttpResult<Json<Lately>> {
    let (items, next_pass) = reaper::reaped(&app)?;
    Ok(Json(Lately {
        list: Listed::all(items),
        next_pass,
    }))
}
