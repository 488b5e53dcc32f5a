//! Groups: one command on many branches, started, followed, shown and cancelled.

use axum::Json;
use axum::body::Body as HttpBody;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_stream::{StreamExt, StreamMap};

use super::extract::{Body, GroupAt, Params, RepoAt};
use super::negotiate::{Format, cursor, prefers_async};
use super::problem::ProblemResponse;
use super::runs::{Waiting, status_of};
use super::sinks::{Events, Output, Text};
use super::streams::{key_and_place, locate, resume, streamed};
use crate::app::{AuthorizedApp, runs};
use branchyard_journal::Cursor;
use branchyard_model::{GroupId, GroupRecord, GroupState, RepoName};
use branchyard_runs::{RunBody, ViewerGuard};

type Outcome = Result<Response, ProblemResponse>;

pub(super) async fn make(
    app: AuthorizedApp,
    RepoAt(repo): RepoAt,
    headers: HeaderMap,
    Body(request): Body<RunBody>,
) -> Outcome {
    start(app, repo, headers, request.group_of_make()?).await
}

pub(super) async fn task(
    app: AuthorizedApp,
    RepoAt(repo): RepoAt,
    headers: HeaderMap,
    Body(request): Body<RunBody>,
) -> Outcome {
    start(app, repo, headers, request.group_of_task()?).await
}

async fn start(
    app: AuthorizedApp,
    repo: RepoName,
    headers: HeaderMap,
    request: RunBody,
) -> Outcome {
    let (key, from) = key_and_place(&headers)?;
    let (detached, output) = (prefers_async(&headers), request.output);
    let id = runs::start_group(&app, &repo, request, detached, key).await?;
    if detached {
        let record = runs::group(&app, id)?;
        let mut response = (StatusCode::ACCEPTED, Json(record)).into_response();
        locate(&mut response, &at(id));
        return Ok(response);
    }
    let viewer = runs::live_group(&app, id)?.map(|live| live.viewers().join(true));
    stream(&app, id, from, &headers, viewer, output).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FollowParams {
    /// The `id` of the last event that was seen, where `Last-Event-ID` cannot be sent.
    from: Option<String>,
    /// Whether the output of the runs is wanted too.
    #[serde(default)]
    output: bool,
}

pub(super) async fn follow(
    app: AuthorizedApp,
    GroupAt(id): GroupAt,
    Params(params): Params<FollowParams>,
    headers: HeaderMap,
) -> Outcome {
    let from = cursor(&headers, params.from.as_deref())?;
    let view = runs::view_group(&app, id)?;
    let viewer = view.viewers().as_ref().map(|viewers| viewers.join(false));
    stream(&app, id, from, &headers, viewer, params.output).await
}

pub(super) async fn show(
    app: AuthorizedApp,
    GroupAt(id): GroupAt,
    Params(params): Params<Waiting>,
) -> Outcome {
    if let (Some(patience), Some(live)) = (params.patience()?, runs::live_group(&app, id)?) {
        // Running out of patience is an answer too: the group as it is by then.
        let _ = tokio::time::timeout(patience, live.ended()).await;
    }
    let record = runs::group(&app, id)?;
    let status = status_of(&params, record.state == GroupState::Succeeded);
    Ok((status, Json(record)).into_response())
}

pub(super) async fn cancel(
    app: AuthorizedApp,
    GroupAt(id): GroupAt,
) -> Result<(StatusCode, Json<GroupRecord>), ProblemResponse> {
    let record = runs::cancel_group(&app, id)?;
    Ok((StatusCode::ACCEPTED, Json(record)))
}

async fn stream(
    app: &AuthorizedApp,
    id: GroupId,
    from: Option<Cursor>,
    headers: &HeaderMap,
    viewer: Option<ViewerGuard>,
    output: bool,
) -> Outcome {
    let view = runs::view_group(app, id)?;
    if !output || from.is_some_and(|from| view.is_done(from)) {
        return resume(&view, from, headers, viewer, &at(id)).await;
    }
    // The group's own events can be resumed; output among them is for those who watch live, and whoever
    // needs all of it follows the runs.
    let (format, place) = (Format::of(headers), from.unwrap_or(Cursor::START));
    let mut pieces = StreamMap::new();
    let own: super::streams::Pieces = match format {
        Format::Text => Box::pin(view.follow(place, Text::with_end()).await?),
        _ => Box::pin(view.follow(place, Events::new(format)).await?),
    };
    pieces.insert(None, own);
    for member in runs::group(app, id)?.members {
        // One that could not be made, or was let go of, has nothing to show.
        let Ok(run) = runs::view_run(app, member.run_id) else {
            continue;
        };
        let place = from.map_or(Cursor::START, |_| run.end());
        let sink = Output::of(&member, format);
        let output: super::streams::Pieces = Box::pin(run.follow(place, sink).await?);
        pieces.insert(Some(member.run_id), output);
    }
    let body = HttpBody::from_stream(pieces.map(move |(_, piece)| {
        let _seat = &viewer;
        piece
    }));
    Ok(streamed(body, format, &at(id)))
}

fn at(group: GroupId) -> String {
    format!("/api/groups/{group}")
}
