//! Runs as streams: started by POST, followed by GET, from any place, in three formats.

use axum::body::Body as HttpBody;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use serde::Deserialize;
use tokio_stream::StreamExt;

use super::extract::{Asker, Body, BranchAt, Params, RunAt};
use super::negotiate::{Format, cursor, prefers_async};
use super::problem::ProblemResponse;
use super::sinks::{Events, Text};
use crate::app::App;
use crate::journal::{Cursor, Sink};
use crate::model::{ErrorKind, OnDisconnect, Problem, RunId};
use crate::runs::{Action, RunRequest, Seat, View};

type Outcome = Result<Response, ProblemResponse>;

/// A handler that starts runs of one kind; `read` makes of the body what that kind needs.
pub(super) fn starting(
    read: fn(RunRequest) -> Result<(Action, RunRequest), Problem>,
) -> MethodRouter<App> {
    post(
        move |State(app): State<App>,
              place: BranchAt,
              asker: Asker,
              headers: HeaderMap,
              Body(request): Body<RunRequest>| async move {
            start(&app, place, &asker, &headers, read(request)?).await
        },
    )
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FollowParams {
    from: Option<String>,
}

pub(super) async fn follow(
    State(app): State<App>,
    RunAt(id): RunAt,
    Params(params): Params<FollowParams>,
    headers: HeaderMap,
) -> Outcome {
    let from = cursor(&headers, params.from.as_deref())?.unwrap_or(Cursor::START);
    let view = app.runs.view(id)?;
    if from != Cursor::START && view.is_done(from) {
        // Tells an EventSource to stop reconnecting.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let seat = view.live.as_ref().map(|live| live.sit(false));
    stream(&view, from, Format::of(&headers), seat).await
}

async fn start(
    app: &App,
    BranchAt(repo, branch): BranchAt,
    Asker(principal): &Asker,
    headers: &HeaderMap,
    (action, mut request): (Action, RunRequest),
) -> Outcome {
    if headers.contains_key("idempotency-key") {
        return Err(Problem::new(
            ErrorKind::NotImplemented,
            "not_implemented",
            "Idempotency-Key is not available in this version",
        )
        .field("Idempotency-Key")
        .into());
    }
    if headers.contains_key("last-event-id") {
        return Err(Problem::bad(
            "Last-Event-ID",
            "a request that starts a run cannot resume one",
        )
        .help("follow the run with GET /stream/runs/{run_id} instead")
        .into());
    }
    let detached = prefers_async(headers);
    if detached {
        request.on_disconnect = Some(OnDisconnect::Continue);
    }
    let live = app
        .runs
        .start(&repo, &branch, (action, request), principal)
        .await?;
    if detached {
        let mut response =
            (StatusCode::ACCEPTED, axum::Json(live.record().shown())).into_response();
        locate(&mut response, live.id);
        return Ok(response);
    }
    let seat = live.sit(true);
    let view = app.runs.view(live.id)?;
    stream(&view, Cursor::START, Format::of(headers), Some(seat)).await
}

async fn stream(view: &View, from: Cursor, format: Format, seat: Option<Seat>) -> Outcome {
    let body = match format {
        Format::Sse | Format::Ndjson => body(view, from, Events::new(format), seat).await?,
        Format::Text => body(view, from, Text::with_end(), seat).await?,
    };
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
    locate(&mut response, view.record.run_id);
    Ok(response)
}

pub(super) async fn body(
    view: &View,
    from: Cursor,
    sink: impl Sink,
    seat: Option<Seat>,
) -> Result<HttpBody, Problem> {
    let pieces = view.follow(from, sink).await?;
    // The seat is left when the body is: at its end, or when the connection goes.
    Ok(HttpBody::from_stream(pieces.map(move |piece| {
        let _seat = &seat;
        piece
    })))
}

fn locate(response: &mut Response, run: RunId) {
    if let Ok(location) = HeaderValue::from_str(&format!("/api/runs/{run}")) {
        response.headers_mut().insert(header::LOCATION, location);
    }
}
