//! Runs as streams: started by POST, followed by GET, from any place, in three formats.

use std::collections::BTreeMap;
use std::pin::Pin;

use axum::body::{Body as HttpBody, Bytes};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_stream::{Stream, StreamExt};

use super::extract::{Body, BranchAt, Params, RunAt};
use super::negotiate::{Format, cursor, idempotency_key, prefers_async};
use super::problem::ProblemResponse;
use super::route::{Handled, post};
use super::sinks::{Events, Text};
use crate::app::{AuthorizedApp, runs};
use branchyard_journal::{Cursor, Sink};
use branchyard_model::{Problem, RunId};
use branchyard_runs::{RunBody, RunRequest, View, ViewerGuard};

type Outcome = Result<Response, ProblemResponse>;
/// A body on its way.
pub(super) type Pieces = Pin<Box<dyn Stream<Item = std::io::Result<Bytes>> + Send>>;

/// A handler that starts runs of one kind; `read` makes of the body what that kind needs.
pub(super) fn starting(read: fn(RunBody) -> Result<RunRequest, Problem>) -> Handled {
    post(
        move |app: AuthorizedApp,
              place: BranchAt,
              headers: HeaderMap,
              Body(body): Body<RunBody>| async move {
            body.check_place(&place.0, &place.1)?;
            start(&app, place, &headers, read(body)?).await
        },
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FollowParams {
    /// The `id` of the last event that was seen, where `Last-Event-ID` cannot be sent.
    pub(super) from: Option<String>,
}

pub(super) async fn follow(
    app: AuthorizedApp,
    RunAt(id): RunAt,
    Params(params): Params<FollowParams>,
    headers: HeaderMap,
) -> Outcome {
    let from = cursor(&headers, params.from.as_deref())?;
    let view = runs::view_run(&app, id)?;
    let viewer = view.viewers().as_ref().map(|viewers| viewers.join(false));
    resume(&view, from, &headers, viewer, &at(id)).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RerunBody {
    /// The variables of the run, where it has ended or another principal set them.
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// Starts a run with the same request as an earlier one.
pub(super) async fn rerun(
    app: AuthorizedApp,
    RunAt(id): RunAt,
    headers: HeaderMap,
    Body(body): Body<RerunBody>,
) -> Outcome {
    let (repo, branch, request) = runs::asked_for(&app, id, body.env)?;
    start(&app, BranchAt(repo, branch), &headers, request).await
}

async fn start(
    app: &AuthorizedApp,
    BranchAt(repo, branch): BranchAt,
    headers: &HeaderMap,
    mut request: RunRequest,
) -> Outcome {
    let (key, from) = key_and_place(headers)?;
    let detached = prefers_async(headers);
    request.set_unwatched(detached);
    let started = runs::start(app, &repo, &branch, request, key).await?;
    if detached {
        let record = runs::get(app, started.id)?;
        let mut response = (StatusCode::ACCEPTED, axum::Json(record)).into_response();
        locate(&mut response, &at(started.id));
        return Ok(response);
    }
    let viewer = started.live.as_ref().map(|live| live.viewers().join(true));
    let view = runs::view_run(app, started.id)?;
    resume(&view, from, headers, viewer, &at(started.id)).await
}

/// What makes a request a repeated one, and where to resume then.
pub(super) fn key_and_place(
    headers: &HeaderMap,
) -> Result<(Option<&str>, Option<Cursor>), Problem> {
    let (key, from) = (idempotency_key(headers)?, cursor(headers, None)?);
    if from.is_some() && key.is_none() {
        return Err(Problem::bad(
            "Last-Event-ID",
            "a request that starts a run cannot resume one",
        )
        .help("follow the run with GET /stream/runs/{run_id}, or send the Idempotency-Key that started it"));
    }
    Ok((key, from))
}

/// The stream of what is at `location`, from where a viewer left off.
pub(super) async fn resume(
    view: &View,
    from: Option<Cursor>,
    headers: &HeaderMap,
    viewer: Option<ViewerGuard>,
    location: &str,
) -> Outcome {
    if from.is_some_and(|from| view.is_done(from)) {
        // Tells an EventSource to stop reconnecting.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let from = from.unwrap_or(Cursor::START);
    let format = Format::of(headers);
    let body = match format {
        Format::Sse | Format::Ndjson => body(view, from, Events::new(format), viewer).await?,
        Format::Text => body(view, from, Text::with_end(), viewer).await?,
    };
    Ok(streamed(body, format, location))
}

/// The answer that a stream is.
pub(super) fn streamed(body: HttpBody, format: Format, location: &str) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(format.content_type()),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    headers.insert(
        "x-content-type-options",
        HeaderValue::from_static("nosniff"),
    );
    locate(&mut response, location);
    response
}

pub(super) async fn body(
    view: &View,
    from: Cursor,
    sink: impl Sink,
    viewer: Option<ViewerGuard>,
) -> Result<HttpBody, Problem> {
    let pieces = view.follow(from, sink).await?;
    // The seat is left when the body is: at its end, or when the connection goes.
    Ok(HttpBody::from_stream(pieces.map(move |piece| {
        let _seat = &viewer;
        piece
    })))
}

fn at(run: RunId) -> String {
    format!("/api/runs/{run}")
}

pub(super) fn locate(response: &mut Response, location: &str) {
    if let Ok(location) = HeaderValue::from_str(location) {
        response.headers_mut().insert(header::LOCATION, location);
    }
}
