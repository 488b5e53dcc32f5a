//! Runs as records: list, show, wait, cancel.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::extract::{At, Params, RunAt};
use super::listed::{Listed, limit};
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, With, does, reads};
use super::test_page::{TestPage, TestParams};
use crate::app::{AuthorizedApp, runs};
use branchyard_db::run_index::Filter;
use branchyard_journal::diagnostics::Diagnostics;
use branchyard_model::{
    BranchName, EndState, GroupId, Problem, RepoName, RunId, RunKind, RunRecord, RunState, Scope,
    moment,
};

pub(super) fn routes() -> Vec<Route> {
    vec![
        reads("listRuns", "List runs")
            .gives("A page of them, the latest first.")
            .get("/api/runs", Needs(Scope::RepoRead), list),
        reads("showRun", "Show a run, or wait for its end")
            .gives("As it is by now.")
            .or::<RunRecord>(422, "With `fail`: it has not succeeded.")
            .get("/api/runs/{run}", Needs(Scope::RepoRead), show),
        reads(
            "showDiagnostics",
            "Errors and warnings in what a run printed",
        )
        .gives("Errors first, each once; of a run that goes on, those so far.")
        .get(
            "/api/runs/{run}/diagnostics",
            Needs(Scope::RepoRead),
            diagnostics,
        ),
        reads("listTests", "The tests of a run that tests")
            .gives("A page of them, those that failed first.")
            .get("/api/runs/{run}/tests", Needs(Scope::RepoRead), tests),
        does("run.cancel", "cancelRun", "Cancel a run")
            .gives("The run. Its end is not waited for.")
            .post("/api/runs/{run}/cancel", Needs(Scope::BuildRun), cancel),
    ]
}

const DEFAULT_PAGE: usize = 50;
const SHORTEST_PART: usize = 4;
const MAX_WAIT: Duration = Duration::from_secs(600);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParams {
    /// Only runs of this repository.
    repo: Option<RepoName>,
    /// Only runs of this branch.
    branch: Option<BranchName>,
    /// Only runs of this kind.
    kind: Option<RunKind>,
    /// Only runs in this state.
    #[schemars(with = "Option<RunState>")]
    state: Option<String>,
    /// Only runs of this group.
    #[schemars(with = "Option<GroupId>")]
    group: Option<String>,
    /// Only runs that this principal asked for.
    principal: Option<String>,
    /// Only runs whose command line, as JSON, has this text in it.
    command: Option<String>,
    /// Only runs whose id starts or ends with this: 4 digits or more.
    part: Option<String>,
    /// Only runs requested since: a time, or how long ago, such as `2h`.
    since: Option<String>,
    /// The `next` of the page before.
    #[schemars(with = "Option<RunId>")]
    before: Option<String>,
    /// How many at a time; 50 if left out, and never more than 500.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

async fn list(
    app: AuthorizedApp,
    Params(params): Params<ListParams>,
) -> HttpResult<Json<Listed<RunRecord, RunId>>> {
    let since = params.since.as_deref();
    let filter = Filter {
        besides: None,
        repo: params.repo,
        branch: params.branch,
        kind: params.kind,
        state: params.state.as_deref().map(state).transpose()?,
        group: params.group.as_deref().map(group).transpose()?,
        principal: params.principal,
        command: params.command,
        part: params.part.as_deref().map(part).transpose()?,
        since: since.map(|text| moment("since", text)).transpose()?,
        before: params.before.as_deref().map(before).transpose()?,
    };
    let limit = limit(params.limit, DEFAULT_PAGE)?;
    let (items, more) = runs::runs_by(&app, filter, limit).await?;
    let next = items.last().filter(|_| more).map(|run| run.run_id);
    Ok(Json(Listed::page(items, next)))
}

/// How long to wait for an end, and what to make of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Waiting {
    /// How long to wait for the end, such as `50s`; never longer than ten minutes.
    wait: Option<String>,
    /// Wait no longer than until it is ready, if it is a run in the background.
    #[serde(default)]
    ready: bool,
    /// Answer 422 unless it succeeded.
    #[serde(default)]
    fail: bool,
}

impl Waiting {
    pub(super) fn patience(&self) -> Result<Option<Duration>, Problem> {
        let Some(wait) = &self.wait else {
            return Ok(None);
        };
        let patience = humantime::parse_duration(wait).map_err(|error| {
            let detail = format!("{wait:?} is not a duration: {error}");
            Problem::unprocessable("wait", detail)
        })?;
        Ok(Some(patience.min(MAX_WAIT)))
    }
}

pub(super) fn status_of(waiting: &Waiting, succeeded: bool) -> StatusCode {
    match waiting.fail && !succeeded {
        true => StatusCode::UNPROCESSABLE_ENTITY,
        false => StatusCode::OK,
    }
}

async fn show(
    app: AuthorizedApp,
    At(id): RunAt,
    Params(params): Params<Waiting>,
) -> HttpResult<(StatusCode, Json<RunRecord>)> {
    if let (Some(patience), Some(live)) = (params.patience()?, runs::live_run(&app, id)?) {
        // Running out of patience is an answer too: the run as it is by then.
        let _ = match params.ready {
            true => tokio::time::timeout(patience, live.answered()).await,
            false => tokio::time::timeout(patience, live.ended()).await,
        };
    }
    let record = runs::get(&app, id)?;
    let succeeded = record.state == RunState::Ended(EndState::Succeeded);
    Ok((status_of(&params, succeeded), Json(record)))
}

async fn diagnostics(app: AuthorizedApp, At(id): RunAt) -> HttpResult<Json<Diagnostics>> {
    Ok(Json(runs::diagnostics(&app, id).await?))
}

async fn tests(
    app: AuthorizedApp,
    At(id): RunAt,
    Params(params): Params<TestParams>,
) -> HttpResult<Json<TestPage>> {
    Ok(Json(params.page(runs::tests(&app, id).await?)?))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CancelParams {
    /// End it even if others asked for it too.
    #[serde(default)]
    force: bool,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "CancelledRun")]
pub struct Cancelled {
    #[serde(flatten)]
    pub record: RunRecord,
    /// How many others still want it: it goes on for them.
    #[serde(default)]
    pub wanted_by: usize,
}

async fn cancel(
    app: AuthorizedApp,
    At(id): RunAt,
    Params(params): Params<CancelParams>,
) -> HttpResult<With<202, Json<Cancelled>>> {
    let (record, wanted_by) = runs::cancel_run(&app, id, params.force)?;
    Ok(With(Json(Cancelled { record, wanted_by })))
}

fn state(text: &str) -> Result<RunState, Problem> {
    serde_json::from_value(json!(text)).map_err(|_| {
        Problem::unprocessable("state", format!("{text:?} is not a state of a run")).help(
            "the states are queued, preparing, running, succeeded, failed, signalled, timed_out, \
             cancelled, lost and rejected",
        )
    })
}

fn group(text: &str) -> Result<GroupId, Problem> {
    GroupId::parse(text).map_err(|problem| problem.field("group"))
}

/// Of one that is shorter, most would be those of others.
fn part(text: &str) -> Result<String, Problem> {
    let is_part = |byte: u8| byte.is_ascii_hexdigit() || byte == b'-';
    if text.len() < SHORTEST_PART || !text.bytes().all(is_part) {
        let detail = format!("{text:?} is no part of the id of a run");
        return Err(Problem::unprocessable("part", detail)
            .help("give the start or the end of one, with 4 digits or more"));
    }
    Ok(text.to_ascii_lowercase())
}

fn before(text: &str) -> Result<RunId, Problem> {
    RunId::parse(text).map_err(|problem| problem.field("before"))
}
