//! Runs as streams: started by POST, followed by GET, from any place, in three formats.

use std::collections::BTreeMap;
use std::pin::Pin;

use axum::Json;
use axum::body::{Body as HttpBody, Bytes};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio_stream::Stream;

use super::extract::{At, Body, BranchAt, Params, RunAt};
use super::held::Held;
use super::negotiate::{Format, cursor, idempotency_key, prefers_async};
use super::openapi::events::of_runs;
use super::problem::HttpResult;
use super::route::Access::Needs;
use super::route::{Header, NDJSON, Operation, Route, SSE, TEXT, does, reads, text};
use super::sinks::{Events, Text};
use crate::app::code_env::{self, InstallRequest};
use crate::app::{AuthorizedApp, runs};
use branchyard_journal::{Cursor, Sink};
use branchyard_model::{BranchName, Problem, RepoName, RunId, RunRecord, Scope};
use branchyard_runs::{RunBody, RunRequest, View, ViewerGuard};

/// A body on its way.
pub(super) type Pieces = Pin<Box<dyn Stream<Item = std::io::Result<Bytes>> + Send>>;

pub(super) const LAST_EVENT_ID: Header = (
    "Last-Event-ID",
    "The `id` of the last event that was seen: what follows it is sent. `0` is the start.",
    text,
);
pub(super) const IDEMPOTENCY_KEY: Header = (
    "Idempotency-Key",
    "Makes it safe to ask again: for 24 hours the same key finds the same run.",
    || json!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" }),
);
const PREFER: Header = (
    "Prefer",
    "`respond-async` gives 202 and the record in place of the stream.",
    text,
);
const EVENTS: &str = "`Accept` chooses the format: server-sent events (`id`, `event`, `data`), NDJSON (the same with `id` and \
    `type` inside) or the output as text with one last line. The events are `status` (`state`: `queued`, `preparing`, \
    `running`; the first has `run_id`), `stdout` and `stderr` (`line` or `b64`, perhaps `eol`), `warning` (`code`, \
    `message`), `gap` (`bytes` that are missing), and as the last `complete` (`state`, `exit_code`, `commit`, \
    `duration_ms`, perhaps `signal`, `reason`, `diagnostics`, `tests`) or, of a run that was rejected, `error` (`kind`, `code`, \
    `detail`, perhaps `field`, `help`). Take events and fields that you do not know for ones of a later version.";

pub(super) fn routes() -> Vec<Route> {
    let at = |what| format!("/stream/repos/{{repo}}/branches/{{branch}}/{what}");
    let starting = |read: fn(RunBody) -> Result<RunRequest, Problem>| {
        move |app, place, headers, body| begin(app, place, headers, body, read)
    };
    // The words of the stream are the same for all; what git asks besides is said in its summary.
    let git = "Run git; a verb that writes or uses the network needs `git:write`";
    vec![
        does("make", "startMake", "Run make")
            .starts::<RunRecord>(EVENTS)
            .post(at("make"), Needs(Scope::BuildRun), starting(RunBody::make)),
        does("git", "startGit", git)
            .starts::<RunRecord>(EVENTS)
            .needs(&["operation"])
            .post(at("git"), Needs(Scope::GitRead), starting(RunBody::git)),
        does("task", "startTask", "Run a declared task")
            .starts::<RunRecord>(EVENTS)
            .needs(&["task"])
            .post(at("task"), Needs(Scope::BuildRun), starting(RunBody::task)),
        does("exec", "startExec", "Run a command of one's own")
            .starts::<RunRecord>(EVENTS)
            .post(at("exec"), Needs(Scope::CodeRun), starting(RunBody::exec)),
        does(
            "test",
            "startTest",
            "Run the tests: `argv`, `task`, the task that is called test, or else make's target of that name",
        )
        .starts::<RunRecord>(EVENTS)
        .post(at("test"), Needs(Scope::BuildRun), test),
        does(
            "exec",
            "installDependencies",
            "Install packages into a code environment",
        )
        .starts::<RunRecord>(EVENTS)
        .post(at("install_dependencies"), Needs(Scope::CodeRun), install),
        does("run.rerun", "rerun", "Run the same again")
            .starts::<RunRecord>(EVENTS)
            .post("/stream/runs/{run}/rerun", Needs(Scope::BuildRun), rerun),
        reads("followRun", "Follow a run")
            .follows(EVENTS)
            .headers(&[LAST_EVENT_ID])
            .get("/stream/runs/{run}", Needs(Scope::RepoRead), follow),
    ]
}

impl Operation {
    /// Answers with a stream, or with nothing where all was seen.
    pub(super) fn follows(self, events: &'static str) -> Self {
        self.says(events)
            .streams("The stream.", &[SSE, NDJSON, TEXT], of_runs)
            .only(204, "There is nothing after the last event that was seen.")
    }

    /// Starts what has the record `R`, and answers with its stream.
    pub(super) fn starts<R: JsonSchema>(self, events: &'static str) -> Self {
        self.follows(events)
            .headers(&[PREFER, IDEMPOTENCY_KEY, LAST_EVENT_ID])
            .or::<R>(202, "It is started; with `Prefer: respond-async`.")
    }
}

/// Starts a run; `read` makes of the body what a run of its kind needs.
async fn begin(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
    headers: HeaderMap,
    Body(body): Body<RunBody>,
    read: fn(RunBody) -> Result<RunRequest, Problem>,
) -> HttpResult {
    body.check_place(&repo, &branch)?;
    start(&app, (repo, branch), &headers, read(body)?).await
}

/// Starts a run that tests.
async fn test(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
    headers: HeaderMap,
    Body(body): Body<RunBody>,
) -> HttpResult {
    body.check_place(&repo, &branch)?;
    let request = runs::test_request(&app, &repo, body)?;
    start(&app, (repo, branch), &headers, request).await
}

/// Starts a run that installs packages.
async fn install(
    app: AuthorizedApp,
    At((repo, branch)): BranchAt,
    headers: HeaderMap,
    Body(body): Body<InstallRequest>,
) -> HttpResult {
    let request = code_env::install(&app, (&repo, &branch), body).await?;
    start(&app, (repo, branch), &headers, request).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FollowParams {
    /// The `id` of the last event that was seen, where `Last-Event-ID` cannot be sent.
    pub(super) from: Option<String>,
}

async fn follow(
    app: AuthorizedApp,
    At(id): RunAt,
    Params(params): Params<FollowParams>,
    headers: HeaderMap,
) -> HttpResult {
    let from = cursor(&headers, params.from.as_deref())?;
    let view = runs::view_run(&app, id)?;
    let viewer = view.viewers().as_ref().map(|viewers| viewers.join(false));
    resume(&view, from, &headers, viewer, &at(id)).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RerunBody {
    /// The variables of the run, where it has ended or another principal set them.
    #[serde(default)]
    env: BTreeMap<String, String>,
}

/// Starts a run with the same request as an earlier one.
async fn rerun(
    app: AuthorizedApp,
    At(id): RunAt,
    headers: HeaderMap,
    Body(body): Body<RerunBody>,
) -> HttpResult {
    let (repo, branch, request) = runs::asked_for(&app, id, body.env)?;
    start(&app, (repo, branch), &headers, request).await
}

async fn start(
    app: &AuthorizedApp,
    (repo, branch): (RepoName, BranchName),
    headers: &HeaderMap,
    mut request: RunRequest,
) -> HttpResult {
    let (key, from) = key_and_place(headers)?;
    code_env::ensure(app, (&repo, &branch), &request).await?;
    let detached = prefers_async(headers);
    request.set_unwatched(detached);
    let started = runs::start(app, &repo, &branch, request, key).await?;
    if detached {
        let record = Json(runs::get(app, started.id)?);
        let location = [(header::LOCATION, at(started.id))];
        return Ok((StatusCode::ACCEPTED, location, record).into_response());
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
        let detail = "a request that starts a run cannot resume one";
        return Err(Problem::bad("Last-Event-ID", detail)
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
) -> HttpResult {
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
    let headers = [
        (header::CONTENT_TYPE, format.content_type()),
        (header::CACHE_CONTROL, "no-cache, no-transform"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
        (header::LOCATION, location),
    ];
    (headers, body).into_response()
}

pub(super) async fn body(
    view: &View,
    from: Cursor,
    sink: impl Sink,
    viewer: Option<ViewerGuard>,
) -> Result<HttpBody, Problem> {
    let pieces = HttpBody::from_stream(view.follow(from, sink).await?);
    // The viewer leaves when the body is dropped: at its end, or when the connection goes.
    Ok(HttpBody::new(Held::new(pieces, viewer)))
}

fn at(run: RunId) -> String {
    format!("/api/runs/{run}")
}
