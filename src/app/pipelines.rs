//! Pipelines of branches that are to be seen: start, find, follow, cancel, retry.

use std::sync::Arc;

use super::AuthorizedApp;
use branchyard_model::{
    BranchName, CommitId, ErrorKind, PipelineCheck, PipelineId, PipelineRecord, Problem, RepoName,
    TestReport,
};
use branchyard_pipelines::{
    BisectRequest, LivePipeline, PipelineFilter, PipelineRequest, Pipelines, RetryRequest,
    forecast, held_worktree, job_tests, pipeline_not_found,
};
use branchyard_runs::View;
use branchyard_workspace::HeldScratch;

/// Whether the caller may see the repo, and the branch where one is named.
fn check_place(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: Option<&BranchName>,
) -> Result<(), Problem> {
    app.repo(repo)?;
    branch.map_or(Ok(()), |branch| app.check(repo, branch))
}

/// Starts a pipeline; the same `key` sent again finds the same one.
pub async fn start(
    app: &AuthorizedApp,
    repo: &RepoName,
    request: PipelineRequest,
    key: Option<&str>,
) -> Result<PipelineId, Problem> {
    check_place(app, repo, request.branch.as_ref())?;
    let pipelines = &app.yard().pipelines;
    pipelines.start(repo, request, app.principal(), key).await
}

/// What [`start`] would start.
pub async fn check(
    app: &AuthorizedApp,
    repo: &RepoName,
    request: &PipelineRequest,
) -> Result<PipelineCheck, Problem> {
    check_place(app, repo, request.branch.as_ref())?;
    forecast(&app.yard().pipelines, repo, request, app.principal()).await
}

/// As [`start`], a bisect.
pub async fn start_bisect(
    app: &AuthorizedApp,
    repo: &RepoName,
    request: BisectRequest,
    key: Option<&str>,
) -> Result<PipelineId, Problem> {
    check_place(app, repo, request.branch.as_ref())?;
    let pipelines = &app.yard().pipelines;
    pipelines
        .start_bisect(repo, request, app.principal(), key)
        .await
}

pub fn get(app: &AuthorizedApp, id: PipelineId) -> Result<PipelineRecord, Problem> {
    let record = app.yard().pipelines.record(id)?;
    match app.principal().sees(&record.repo, &record.branch) {
        true => Ok(record),
        false => Err(pipeline_not_found(id)),
    }
}

/// The pipeline, if it has not ended.
pub fn live(app: &AuthorizedApp, id: PipelineId) -> Result<Option<Arc<LivePipeline>>, Problem> {
    get(app, id)?;
    Ok(app.yard().pipelines.live(id))
}

pub fn view(app: &AuthorizedApp, id: PipelineId) -> Result<View, Problem> {
    get(app, id)?;
    app.yard().pipelines.view(id)
}

pub fn cancel(app: &AuthorizedApp, id: PipelineId) -> Result<PipelineRecord, Problem> {
    get(app, id)?;
    app.yard().pipelines.cancel(id, app.principal().name())
}

pub fn retry(
    app: &AuthorizedApp,
    id: PipelineId,
    request: &RetryRequest,
) -> Result<PipelineRecord, Problem> {
    get(app, id)?;
    app.yard().pipelines.retry(id, request)
}

/// Asks of what is on disk of a pipeline that is to be seen.
pub async fn ask<T: Send + 'static>(
    app: &AuthorizedApp,
    id: PipelineId,
    ask: impl FnOnce(&Pipelines) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    get(app, id)?;
    let pipelines = app.yard().pipelines.clone();
    blocking(move || ask(&pipelines)).await
}

/// Asks where blocking is allowed.
pub(super) async fn blocking<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(ask)
        .await
        .map_err(|error| Problem::new(ErrorKind::Internal, "look_failed", error.to_string()))?
}

/// Pipelines of a repo by `filter`, newest first, at most `limit`; and whether there are more.
pub async fn list(
    app: &AuthorizedApp,
    repo: &RepoName,
    filter: PipelineFilter,
    limit: usize,
) -> Result<(Vec<PipelineRecord>, bool), Problem> {
    app.check_repo(repo)?;
    let (pipelines, principal) = (app.yard().pipelines.clone(), app.principal().clone());
    let repo = repo.clone();
    blocking(move || {
        pipelines.list(&repo, &filter, limit, |branch| {
            principal.sees(&repo, branch)
        })
    })
    .await
}

/// The worktree that is held of a job, and the commit that the job began with.
pub async fn held(
    app: &AuthorizedApp,
    id: PipelineId,
    job: &str,
) -> Result<(CommitId, Arc<HeldScratch>), Problem> {
    let job = job.to_owned();
    ask(app, id, move |all| held_worktree(all, id, &job)).await
}

/// The tests that a job reported.
pub async fn tests(app: &AuthorizedApp, id: PipelineId, job: &str) -> Result<TestReport, Problem> {
    let job = job.to_owned();
    ask(app, id, move |all| job_tests(all, id, &job)).await
}

/// How much of a file one answer holds.
pub fn max_read(app: &AuthorizedApp) -> usize {
    app.yard().config.limits.max_read.as_usize()
}
