//! Pipelines: started, listed, followed, shown, cancelled, retried.

use std::collections::HashSet;
use std::io;

use axum::Json;
use axum::body::{Body as HttpBody, Bytes};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_stream::{Stream, StreamExt, StreamMap};

use super::extract::{At, Body, Params, PipelineAt, RepoAt};
use super::held::Held;
use super::listed::{Listed, limit};
use super::negotiate::{Format, cursor, idempotency_key};
use super::problem::HttpResult;
use super::raw::attachment;
use super::route::Access::Needs;
use super::route::{Route, TEXT, With, does, reads};
use super::runs::{Waiting, status_of};
use super::sinks::{Events, Output, Text};
use super::streams::{IDEMPOTENCY_KEY, LAST_EVENT_ID, Pieces, resume, streamed};
use super::test_page::{TestPage, TestParams};
use crate::app::{AuthorizedApp, pipelines, runs};
use branchyard_journal::Cursor;
use branchyard_model::{
    BranchName, CommitId, PipelineCheck, PipelineId, PipelineRecord, PipelineState, RunId, Scope,
};
use branchyard_pipelines::{PipelineFilter, PipelineRequest, RetryRequest};

const EVENTS: &str = "`Accept` chooses the format, as for a run. The events are `pipeline` (the record, first and as the \
    last), `job` (a job of it, whenever that or one of its steps is in another state), and with `output` also those of the \
    steps' output, with their `run_id` and `job`.";
const DEFAULT_PAGE: usize = 50;

pub(super) fn routes() -> Vec<Route> {
    vec![
        does("pipeline.start", "startPipeline", "Start a pipeline")
            .gives("The pipeline, as it is now.")
            .headers(&[IDEMPOTENCY_KEY])
            .post("/api/repos/{repo}/pipelines", Needs(Scope::BuildRun), start),
        reads(
            "checkPipeline",
            "Say what a pipeline would do, without starting it",
        )
        .gives("What would become of each job, or all that is wrong with the file.")
        .post(
            "/api/repos/{repo}/pipelines/check",
            Needs(Scope::RepoRead),
            check,
        ),
        reads("listPipelines", "List the pipelines of a repository")
            .gives("A page of them, the latest first.")
            .get("/api/repos/{repo}/pipelines", Needs(Scope::RepoRead), list),
        reads("showPipeline", "Show a pipeline, or wait for its end")
            .gives("As it is by now.")
            .or::<PipelineRecord>(422, "With `fail`: it has not succeeded.")
            .get("/api/pipelines/{pipeline}", Needs(Scope::RepoRead), show),
        reads("followPipeline", "Follow a pipeline")
            .follows(EVENTS)
            .headers(&[LAST_EVENT_ID])
            .get(
                "/stream/pipelines/{pipeline}",
                Needs(Scope::RepoRead),
                follow,
            ),
        reads(
            "showJobSummary",
            "What the steps of a job wrote to `GITHUB_STEP_SUMMARY`",
        )
        .writes(
            200,
            "Markdown, as a download; empty where nothing was written.",
            &[TEXT],
        )
        .get(
            "/api/pipelines/{pipeline}/jobs/{job}/summary",
            Needs(Scope::RepoRead),
            summary,
        ),
        reads("listJobTests", "List the tests of a job")
            .gives("Those that its latest attempt reported, the failed ones first.")
            .get(
                "/api/pipelines/{pipeline}/jobs/{job}/tests",
                Needs(Scope::RepoRead),
                tests,
            ),
        does("pipeline.cancel", "cancelPipeline", "Cancel a pipeline")
            .gives("The pipeline. Its end is not waited for.")
            .post(
                "/api/pipelines/{pipeline}/cancel",
                Needs(Scope::BuildRun),
                cancel,
            ),
        does(
            "pipeline.retry",
            "retryPipeline",
            "Run the failed jobs of a pipeline again, or those that are named",
        )
        .gives("The pipeline, as it is now.")
        .post(
            "/api/pipelines/{pipeline}/retry",
            Needs(Scope::BuildRun),
            retry,
        ),
    ]
}

async fn start(
    app: AuthorizedApp,
    At(repo): RepoAt,
    headers: HeaderMap,
    Body(request): Body<PipelineRequest>,
) -> HttpResult<Started> {
    let key = idempotency_key(&headers)?;
    let id = pipelines::start(&app, &repo, request, key).await?;
    started(&app, id)
}

async fn check(
    app: AuthorizedApp,
    At(repo): RepoAt,
    Body(request): Body<PipelineRequest>,
) -> HttpResult<Json<PipelineCheck>> {
    Ok(Json(pipelines::check(&app, &repo, &request).await?))
}

/// A pipeline that there is now, and where it is.
pub(super) type Started = With<201, ([(HeaderName, String); 1], Json<PipelineRecord>)>;

pub(super) fn started(app: &AuthorizedApp, id: PipelineId) -> HttpResult<Started> {
    let location = [(header::LOCATION, at(id))];
    Ok(With((location, Json(pipelines::get(app, id)?))))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListParams {
    /// Only pipelines of this branch.
    branch: Option<BranchName>,
    /// Only pipelines at this commit.
    commit: Option<CommitId>,
    /// Only pipelines in this state.
    state: Option<PipelineState>,
    /// Only pipelines of this workflow file: its path, or its name alone.
    file: Option<String>,
    /// The `next` of the page before.
    #[schemars(with = "Option<PipelineId>")]
    before: Option<String>,
    /// How many at a time; 50 if left out, and never more than 500.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

async fn list(
    app: AuthorizedApp,
    At(repo): RepoAt,
    Params(params): Params<ListParams>,
) -> HttpResult<Json<Listed<PipelineRecord, PipelineId>>> {
    let before = params.before.as_deref().map(PipelineId::parse);
    let filter = PipelineFilter {
        branch: params.branch,
        commit: params.commit,
        state: params.state,
        file: params.file,
        before: before
            .transpose()
            .map_err(|problem| problem.field("before"))?,
    };
    let limit = limit(params.limit, DEFAULT_PAGE)?;
    let (items, more) = pipelines::list(&app, &repo, filter, limit).await?;
    let next = items.last().filter(|_| more).map(|it| it.pipeline_id);
    Ok(Json(Listed::page(items, next)))
}

async fn show(
    app: AuthorizedApp,
    At(id): PipelineAt,
    Params(params): Params<Waiting>,
) -> HttpResult<(StatusCode, Json<PipelineRecord>)> {
    if let (Some(patience), Some(live)) = (params.patience()?, pipelines::live(&app, id)?) {
        // Running out of patience is an answer too: the pipeline as it is by then.
        let _ = tokio::time::timeout(patience, live.settled(false)).await;
    }
    let record = pipelines::get(&app, id)?;
    let status = status_of(&params, record.state == PipelineState::Succeeded);
    Ok((status, Json(record)))
}

async fn summary(app: AuthorizedApp, At((id, job)): At<(PipelineId, String)>) -> HttpResult {
    let text = pipelines::ask(&app, id, move |pipelines| pipelines.summary(id, &job)).await?;
    let named = attachment("summary.md");
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, named),
    ];
    Ok((headers, text).into_response())
}

async fn tests(
    app: AuthorizedApp,
    At((id, job)): At<(PipelineId, String)>,
    Params(params): Params<TestParams>,
) -> HttpResult<Json<TestPage>> {
    Ok(Json(params.page(pipelines::tests(&app, id, &job).await?)?))
}

async fn cancel(
    app: AuthorizedApp,
    At(id): PipelineAt,
) -> HttpResult<With<202, Json<PipelineRecord>>> {
    Ok(With(Json(pipelines::cancel(&app, id)?)))
}

async fn retry(
    app: AuthorizedApp,
    At(id): PipelineAt,
    Body(request): Body<RetryRequest>,
) -> HttpResult<With<202, Json<PipelineRecord>>> {
    Ok(With(Json(pipelines::retry(&app, id, &request)?)))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FollowParams {
    /// The `id` of the last event that was seen, where `Last-Event-ID` cannot be sent.
    from: Option<String>,
    /// Whether the output of the steps is wanted too.
    #[serde(default)]
    output: bool,
}

async fn follow(
    app: AuthorizedApp,
    At(id): PipelineAt,
    Params(params): Params<FollowParams>,
    headers: HeaderMap,
) -> HttpResult {
    let from = cursor(&headers, params.from.as_deref())?;
    let view = pipelines::view(&app, id)?;
    let viewer = view.viewers().as_ref().map(|viewers| viewers.join(false));
    if !params.output || from.is_some_and(|from| view.is_done(from)) {
        return resume(&view, from, &headers, viewer, &at(id)).await;
    }
    // The pipeline's own events can be resumed; output among them is for those who watch live, and whoever needs all of it
    // follows the runs.
    let (format, place) = (Format::of(&headers), from.unwrap_or(Cursor::START));
    let own: Pieces = match format {
        Format::Text => Box::pin(view.follow(place, Text::with_end()).await?),
        _ => Box::pin(view.follow(place, Events::new(format)).await?),
    };
    let pieces = with_output(app, id, own, (from, format));
    let body = HttpBody::new(Held::new(HttpBody::from_stream(pieces), viewer));
    Ok(streamed(body, format, &at(id)))
}

/// The events of a pipeline, and the output of its steps as they begin.
fn with_output(
    app: AuthorizedApp,
    id: PipelineId,
    own: Pieces,
    (from, format): (Option<Cursor>, Format),
) -> impl Stream<Item = io::Result<Bytes>> + Send {
    async_stream::stream! {
        let mut pieces = StreamMap::new();
        let mut known = HashSet::new();
        pieces.insert(None, own);
        let mut changes = pipelines::live(&app, id).ok().flatten().map(|live| live.watch());
        let mut is_first = true;
        loop {
            for (run, job, name) in step_runs(&app, id) {
                // One that was let go of has nothing to show.
                let Some(view) = known.insert(run).then(|| runs::view_run(&app, run).ok()).flatten() else {
                    continue;
                };
                let place = match from {
                    Some(_) if is_first => view.end(),
                    _ => Cursor::START,
                };
                let sink = Output::of_step(run, (&job, &name), format);
                if let Ok(output) = view.follow(place, sink).await {
                    let output: Pieces = Box::pin(output);
                    pieces.insert(Some(run), output);
                }
            }
            is_first = false;
            let changed = async {
                match &mut changes {
                    Some(changes) => changes.changed().await.is_ok(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                piece = pieces.next() => match piece {
                    Some((_, piece)) => yield piece,
                    None => return,
                },
                is_live = changed => if !is_live {
                    changes = None;
                },
            }
        }
    }
}

/// The runs of the steps that have begun, with the id and the name of their job.
fn step_runs(app: &AuthorizedApp, id: PipelineId) -> Vec<(RunId, String, String)> {
    let record = pipelines::get(app, id).ok();
    let jobs = record.into_iter().flat_map(|record| record.jobs);
    jobs.flat_map(|job| {
        let runs = job.steps.into_iter().filter_map(|step| step.run_id);
        runs.map(|run| (run, job.job.clone(), job.name.clone()))
            .collect::<Vec<_>>()
    })
    .collect()
}

fn at(pipeline: PipelineId) -> String {
    format!("/api/pipelines/{pipeline}")
}
