//! Runs as records: list, show, wait, log, cancel.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Asker, Params, RunAt};
use super::problem::ProblemResponse;
use super::sinks::Text;
use super::streams::body;
use crate::app::App;
use crate::journal::Cursor;
use crate::model::{BranchName, EndState, Problem, RepoName, RunId, RunKind, RunRecord, RunState};
use crate::runs::Filter;

const DEFAULT_PAGE: usize = 50;
const MAX_PAGE: usize = 500;
const MAX_WAIT: Duration = Duration::from_secs(600);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListParams {
    repo: Option<RepoName>,
    branch: Option<BranchName>,
    kind: Option<RunKind>,
    state: Option<RunState>,
    /// The `next` of the page before.
    before: Option<String>,
    limit: Option<usize>,
}

pub(super) async fn list(
    State(app): State<App>,
    Params(params): Params<ListParams>,
) -> Result<Json<Value>, ProblemResponse> {
    let filter = Filter {
        repo: params.repo,
        branch: params.branch,
        kind: params.kind,
        state: params.state.map(|state| state.as_str().to_owned()),
        before: params.before.as_deref().map(RunId::parse).transpose()?,
    };
    let limit = params.limit.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE);
    let runs = app.runs.clone();
    let (items, more) = tokio::task::spawn_blocking(move || runs.list(&filter, limit))
        .await
        .map_err(|error| internal(&error))?;
    let next = items.last().filter(|_| more).map(|run| run.run_id);
    Ok(Json(json!({ "items": items, "next": next })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowParams {
    /// How long to wait for the end, such as `50s`.
    wait: Option<String>,
    /// Answer 422 unless the run succeeded.
    #[serde(default)]
    fail: bool,
}

pub(super) async fn show(
    State(app): State<App>,
    RunAt(id): RunAt,
    Params(params): Params<ShowParams>,
) -> Result<Response, ProblemResponse> {
    if let Some(wait) = &params.wait {
        let patience = humantime::parse_duration(wait).map_err(|error| {
            Problem::unprocessable("wait", format!("{wait:?} is not a duration: {error}"))
        })?;
        if let Some(live) = app.runs.live(id) {
            // Running out of patience is an answer too: the run as it is by then.
            let _ = tokio::time::timeout(patience.min(MAX_WAIT), live.ended()).await;
        }
    }
    let record = app.runs.record(id)?;
    let succeeded = record.state == RunState::Ended(EndState::Succeeded);
    let status = if params.fail && !succeeded {
        StatusCode::UNPROCESSABLE_ENTITY
    } else {
        StatusCode::OK
    };
    Ok((status, Json(record)).into_response())
}

pub(super) async fn log(
    State(app): State<App>,
    RunAt(id): RunAt,
) -> Result<Response, ProblemResponse> {
    let view = app.runs.view(id)?;
    let seat = view.live.as_ref().map(|live| live.sit(false));
    let mut response = body(&view, Cursor::START, Text::exact(), seat)
        .await?
        .into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; charset=utf-8"),
    );
    headers.insert(
        "x-content-type-options",
        HeaderValue::from_static("nosniff"),
    );
    Ok(response)
}

pub(super) async fn cancel(
    State(app): State<App>,
    RunAt(id): RunAt,
    Asker(principal): Asker,
) -> Result<(StatusCode, Json<RunRecord>), ProblemResponse> {
    Ok((
        StatusCode::ACCEPTED,
        Json(app.runs.cancel(id, &principal.name)?),
    ))
}

fn internal(error: &dyn std::error::Error) -> Problem {
    Problem::new(
        crate::model::ErrorKind::Internal,
        "list_failed",
        error.to_string(),
    )
}
