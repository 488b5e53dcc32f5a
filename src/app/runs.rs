//! Runs and groups of branches that are to be seen: start, find, follow, cancel.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AuthorizedApp;
use branchyard_db::run_index::Filter;
use branchyard_journal::diagnostics::Diagnostics;
use branchyard_model::{
    BranchName, DiagnosticsSummary, ErrorKind, GroupId, GroupRecord, Problem, RepoName, RunId,
    RunKind, RunRecord, RunState, TestReport,
};
use branchyard_runs::{
    Live, LiveGroup, RunBody, RunRequest, Runs, Started, TEST_TASK, View, group_not_found, groups,
    run_not_found,
};

/// How a branch was last built, or whatever else was run there.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct LastRun {
    pub run_id: RunId,
    pub kind: RunKind,
    pub argv: Vec<String>,
    /// The task's name, of a run that is one.
    pub task: Option<String>,
    pub state: RunState,
    pub exit_code: Option<i32>,
    pub created_at: Timestamp,
    /// When its command began.
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    pub ended_at: Option<Timestamp>,
    pub duration_ms: Option<u64>,
    /// What its output complained about; `null` where it did not, and while the run is under way.
    #[serde(default)]
    pub diagnostics: Option<DiagnosticsSummary>,
}

impl LastRun {
    fn of(record: RunRecord) -> Self {
        Self {
            run_id: record.run_id,
            kind: record.spec.kind,
            argv: record.spec.argv,
            task: record.spec.task,
            state: record.state,
            exit_code: record.exit_code,
            created_at: record.created_at,
            started_at: record.started_at,
            ended_at: record.ended_at,
            duration_ms: record.duration_ms,
            diagnostics: record.diagnostics,
        }
    }
}

/// See [`Runs::start`].
pub async fn start(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    request: RunRequest,
    key: Option<&str>,
) -> Result<Started, Problem> {
    app.check(repo, branch)?;
    let runs = &app.yard().runs;
    runs.start(repo, branch, request, app.principal(), key)
        .await
}

/// Starts one run for each branch that the request names and that is to be seen.
pub async fn start_group(
    app: &AuthorizedApp,
    repo: &RepoName,
    request: RunBody,
    unwatched: bool,
    key: Option<&str>,
) -> Result<GroupId, Problem> {
    app.repo(repo)?;
    let runs = &app.yard().runs;
    groups::start_group(runs, repo, request, unwatched, app.principal(), key).await
}

pub fn get(app: &AuthorizedApp, id: RunId) -> Result<RunRecord, Problem> {
    let record = app.yard().runs.record(id)?;
    let spec = &record.spec;
    match app.principal().sees(&spec.repo, &spec.branch) {
        true => Ok(record),
        false => Err(run_not_found(id)),
    }
}

/// The run that has the lock of the workspace that this one waits for.
pub fn ahead_of(app: &AuthorizedApp, record: &RunRecord) -> Option<RunId> {
    let workspace = app.workspace(&record.spec.repo, &record.spec.branch).ok()?;
    let holder = workspace.queue().holder()?.run_id?;
    (record.state == RunState::Queued && holder != record.run_id).then_some(holder)
}

/// The run, if it has not ended.
pub fn live_run(app: &AuthorizedApp, id: RunId) -> Result<Option<Arc<Live>>, Problem> {
    get(app, id)?;
    Ok(app.yard().runs.live(id))
}

pub fn view_run(app: &AuthorizedApp, id: RunId) -> Result<View, Problem> {
    get(app, id)?;
    app.yard().runs.view(id)
}

/// What a run was asked for with, to be asked for again: see [`Runs::asked_for`].
pub fn asked_for(
    app: &AuthorizedApp,
    id: RunId,
    env: BTreeMap<String, String>,
) -> Result<(RepoName, BranchName, RunRequest), Problem> {
    get(app, id)?;
    let principal = &app.principal().name();
    app.yard().runs.asked_for(id, principal, env)
}

/// See [`Runs::cancel`].
pub fn cancel_run(
    app: &AuthorizedApp,
    id: RunId,
    force: bool,
) -> Result<(RunRecord, usize), Problem> {
    get(app, id)?;
    app.yard().runs.cancel(id, app.principal().name(), force)
}

/// A group, where each of its branches is to be seen.
pub fn group(app: &AuthorizedApp, id: GroupId) -> Result<GroupRecord, Problem> {
    let record = groups::group(&app.yard().runs, id)?;
    let sees = |branch| app.principal().sees(&record.repo, branch);
    match record.members.iter().all(|member| sees(&member.branch)) {
        true => Ok(record),
        false => Err(group_not_found(id)),
    }
}

/// The group, if it has not ended.
pub fn live_group(app: &AuthorizedApp, id: GroupId) -> Result<Option<Arc<LiveGroup>>, Problem> {
    group(app, id)?;
    Ok(groups::live_group(&app.yard().runs, id))
}

pub fn view_group(app: &AuthorizedApp, id: GroupId) -> Result<View, Problem> {
    group(app, id)?;
    groups::group_view(&app.yard().runs, id)
}

pub fn cancel_group(app: &AuthorizedApp, id: GroupId) -> Result<GroupRecord, Problem> {
    group(app, id)?;
    groups::cancel_group(&app.yard().runs, id, app.principal().name())
}

/// Runs by `filter`, newest first, at most `limit`; and whether there are more.
pub async fn runs_by(
    app: &AuthorizedApp,
    filter: Filter,
    limit: usize,
) -> Result<(Vec<RunRecord>, bool), Problem> {
    // One that was forgotten since has its runs still.
    if let Some(repo) = &filter.repo {
        app.check_repo(repo)?;
    }
    let principal = app.principal().clone();
    ask_runs(app, move |runs| {
        runs.list(&filter, limit, |repo, branch| principal.sees(repo, branch))
    })
    .await
}

/// The latest run of each of these branches that has one.
pub async fn last_runs(
    app: &AuthorizedApp,
    repo: &RepoName,
    branches: Vec<BranchName>,
) -> Result<HashMap<BranchName, LastRun>, Problem> {
    let repo = repo.clone();
    ask_runs(app, move |runs| {
        let newest = runs.newest_of_branches(&repo, &branches)?.into_iter();
        Ok(newest
            .map(|record| (record.spec.branch.clone(), LastRun::of(record)))
            .collect())
    })
    .await
}

/// Errors and warnings in the output of a run, or in what it printed so far.
pub async fn diagnostics(app: &AuthorizedApp, run: RunId) -> Result<Diagnostics, Problem> {
    get(app, run)?;
    ask_runs(app, move |runs| runs.diagnostics(run)).await
}

/// The tests of an ended run, those that failed first.
pub async fn tests(app: &AuthorizedApp, run: RunId) -> Result<TestReport, Problem> {
    get(app, run)?;
    ask_runs(app, move |runs| runs.tests(run)).await
}

/// What tests the repo, by the body of a request to test it.
pub fn test_request(
    app: &AuthorizedApp,
    repo: &RepoName,
    body: RunBody,
) -> Result<RunRequest, Problem> {
    let repo = app.repo(repo)?;
    let mut tasks = repo.config().tasks.keys();
    body.test(tasks.any(|task| task.as_str() == TEST_TASK))
}

/// The answers are on disk: asked where blocking is allowed.
async fn ask_runs<T: Send + 'static>(
    app: &AuthorizedApp,
    ask: impl FnOnce(&Runs) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let runs = app.yard().runs.clone();
    tokio::task::spawn_blocking(move || ask(&runs))
        .await
        .map_err(|error| Problem::new(ErrorKind::Internal, "look_failed", error.to_string()))?
}
