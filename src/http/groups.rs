//! Groups: one command on many branches, started, followed, shown and cancelled.

use axum::Json;
use axum::body::Body as HttpBody;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_stream::{StreamExt, StreamMap};

use super::extract::{At, Body, GroupAt, Params, RepoAt};
use super::held::Held;
use super::negotiate::{Format, cursor, prefers_async};
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Route, With, does, reads};
use super::runs::{Waiting, status_of};
use super::sinks::{Events, Output, Text};
use super::streams::{LAST_EVENT_ID, key_and_place, resume, streamed};
use crate::app::{AuthorizedApp, runs};
use branchyard_journal::Cursor;
use branchyard_model::{GroupId, GroupRecord, GroupState, Problem, Scope};
use branchyard_runs::{RunBody, ViewerGuard};

const EVENTS: &str = "`Accept` chooses the format, as for a run. The events are `group` (the record, first), `started` and \
    `ended` (`branch`, `run_id`, how it ended), with `output` also those of the runs' output, and as the last \
    `summary` (`state`, `total`, `counts`, `duration_ms`, `results`).";

pub(super) fn routes() -> Vec<Route> {
    let at = |what| format!("/stream/repos/{{repo}}/{what}");
    let starting = |read: fn(RunBody) -> Result<RunBody, Problem>| {
        move |app, place, headers, body| start(app, place, headers, body, read)
    };
    let make = starting(RunBody::group_of_make);
    let task = starting(RunBody::group_of_task);
    vec![
        does("group.start", "startGroup", "Run make on many branches")
            .starts::<GroupRecord>(EVENTS)
            .needs(&["branches"])
            .post(at("make"), Needs(Scope::BuildRun), make),
        does(
            "group.start",
            "startTaskGroup",
            "Run a declared task on many branches",
        )
        .starts::<GroupRecord>(EVENTS)
        .needs(&["branches", "task"])
        .post(at("task"), Needs(Scope::BuildRun), task),
        reads("followGroup", "Follow a group")
            .follows(EVENTS)
            .headers(&[LAST_EVENT_ID])
            .get("/stream/groups/{group}", Needs(Scope::RepoRead), follow),
        reads("showGroup", "Show a group, or wait for its end")
            .gives("As it is by now.")
            .or::<GroupRecord>(422, "With `fail`: it has not succeeded.")
            .get("/api/groups/{group}", Needs(Scope::RepoRead), show),
        does("group.cancel", "cancelGroup", "Cancel all runs of a group")
            .gives("The group. Its end is not waited for.")
            .post("/api/groups/{group}/cancel", Needs(Scope::BuildRun), cancel),
    ]
}

/// Starts a group; `read` checks that the body has what a group of its kind needs.
async fn start(
    app: AuthorizedApp,
    At(repo): RepoAt,
    headers: HeaderMap,
    Body(body): Body<RunBody>,
    read: fn(RunBody) -> Result<RunBody, Problem>,
) -> HttpResult {
    let request = read(body)?;
    let (key, from) = key_and_place(&headers)?;
    let (detached, output) = (prefers_async(&headers), request.output);
    let id = runs::start_group(&app, &repo, request, detached, key).await?;
    if detached {
        let record = Json(runs::group(&app, id)?);
        let location = [(header::LOCATION, at(id))];
        return Ok((StatusCode::ACCEPTED, location, record).into_response());
    }
    let viewer = runs::live_group(&app, id)?.map(|live| live.viewers().join(true));
    stream(&app, id, from, &headers, viewer, output).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FollowParams {
    /// The `id` of the last event that was seen, where `Last-Event-ID` cannot be sent.
    from: Option<String>,
    /// Whether the output of the runs is wanted too.
    #[serde(default)]
    output: bool,
}

async fn follow(
    app: AuthorizedApp,
    At(id): GroupAt,
    Params(params): Params<FollowParams>,
    headers: HeaderMap,
) -> HttpResult {
    let from = cursor(&headers, params.from.as_deref())?;
    let view = runs::view_group(&app, id)?;
    let viewer = view.viewers().as_ref().map(|viewers| viewers.join(false));
    stream(&app, id, from, &headers, viewer, params.output).await
}

async fn show(
    app: AuthorizedApp,
    At(id): GroupAt,
    Params(params): Params<Waiting>,
) -> HttpResult<(StatusCode, Json<GroupRecord>)> {
    if let (Some(patience), Some(live)) = (params.patience()?, runs::live_group(&app, id)?) {
        // Running out of patience is an answer too: the group as it is by then.
        let _ = tokio::time::timeout(patience, live.ended()).await;
    }
    let record = runs::group(&app, id)?;
    let status = status_of(&params, record.state == GroupState::Succeeded);
    Ok((status, Json(record)))
}

async fn cancel(app: AuthorizedApp, At(id): GroupAt) -> HttpResult<With<202, Json<GroupRecord>>> {
    Ok(With(Json(runs::cancel_group(&app, id)?)))
}

async fn stream(
    app: &AuthorizedApp,
    id: GroupId,
    from: Option<Cursor>,
    headers: &HeaderMap,
    viewer: Option<ViewerGuard>,
    output: bool,
) -> HttpResult {
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
    let body = HttpBody::from_stream(pieces.map(|(_, piece)| piece));
    let body = HttpBody::new(Held::new(body, viewer));
    Ok(streamed(body, format, &at(id)))
}

fn at(group: GroupId) -> String {
    format!("/api/groups/{group}")
}
