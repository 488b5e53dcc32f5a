//! Steps of pipelines: runs in a scratch worktree, under an id that the pipeline wrote down before. The pipeline holds the
//! worktree and the slot; no other job waits for these two.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::drive::{Drive, not_started, task_failed};
use super::ending::Ending;
use super::environment;
use super::history::Asked;
use super::live::Live;
use super::meter::users_of;
use super::open::{Runs, RunsInner, draining};
use super::parallel::share_of;
use super::request::RunBody;
use super::secrets::within_reach;
use super::slots::Slot;
use super::start::not_recorded;
use super::written::{RequestKind, Written};
use crate::{launch, reuse};
use branchyard_config::{Token, Tool};
use branchyard_git::CredentialLease;
use branchyard_journal::Watch;
use branchyard_model::{
    About, BranchName, CommitId, OnDisconnect, Problem, RunId, RunKind, RunRecord, RunSpec, StepOf,
    SyncMode, slug,
};
use branchyard_process::{Redactor, SANDBOX_TMP, Supervisor, kept_masks};
use branchyard_workspace::repos::Repo;

/// A command of a step, ready to be started. It may hold secrets, hence no `Debug`.
pub struct StepRequest {
    pub run_id: RunId,
    pub repo: Arc<Repo>,
    pub branch: BranchName,
    /// The commit that the worktree is at, and its tree.
    pub commit: CommitId,
    pub tree: CommitId,
    pub step: StepOf,
    pub argv: Vec<String>,
    /// Over what every run of the repo has.
    pub env: BTreeMap<String, String>,
    /// Variables that hold secrets: the record of the run does not have them.
    pub secrets: BTreeMap<String, String>,
    /// Directories that come before those of `PATH`.
    pub search: Vec<String>,
    pub timeout: Duration,
    /// Whether other steps run beside it.
    pub background: bool,
    /// Who asked for the pipeline, and by whose limits it counts.
    pub principal: String,
    pub account: String,
    pub place: StepPlace,
    /// What must not be seen in the output.
    pub hidden: Vec<String>,
    /// Where values are kept that commands of the job mask themselves.
    pub masks: PathBuf,
}

/// Where a step works. The steps of a job have all of it in common but the script.
#[derive(Debug, Clone)]
pub struct StepPlace {
    pub worktree: PathBuf,
    pub home: PathBuf,
    pub tmp: PathBuf,
    /// Where it writes what it has to say to the steps after it.
    pub files: PathBuf,
    pub script: Option<PathBuf>,
    /// Within the worktree, or an absolute path as the step sees it.
    pub working_directory: PathBuf,
}

/// What is known of a step's run.
#[derive(Debug)]
pub enum StepRun {
    NeverStarted,
    Live(Arc<Live>),
    Ended(Box<RunRecord>),
}

/// The slot of a job: its steps execute in it, one after another.
#[derive(Debug)]
pub struct JobSlot(#[expect(dead_code, reason = "held until dropped")] Slot);

/// Waits for the slot of a job, in turn with the runs of all others.
pub async fn take_job_slot(
    runs: &Runs,
    principal: &str,
    repo: &Repo,
    on_wait: impl FnMut(usize),
) -> JobSlot {
    let slots = &runs.inner().slots;
    let most = most_jobs(runs, repo);
    JobSlot(slots.take(principal, repo.name(), most, on_wait).await)
}

/// The slot of a job that an earlier daemon had begun.
pub fn occupy_job_slot(runs: &Runs, principal: &str, repo: &Repo) -> JobSlot {
    JobSlot(runs.inner().slots.occupy(principal, repo.name()))
}

/// How many jobs and other runs of the repo execute at the same time.
pub fn most_jobs(runs: &Runs, repo: &Repo) -> usize {
    let of_all = runs.inner().config.limits.max_concurrent_runs_per_repo;
    repo.config().max_concurrent_runs.unwrap_or(of_all)
}

/// Where the steps of a job find what they share.
#[derive(Debug, Clone)]
pub struct SeenPlaces {
    pub worktree: PathBuf,
    pub home: PathBuf,
    pub tmp: PathBuf,
}

/// As the sandbox shows it, where there is one.
pub fn seen_places(runs: &Runs, repo: &Repo, place: &StepPlace) -> Result<SeenPlaces, Problem> {
    let sandboxes = &runs.inner().sandboxes;
    let (home, tmp) = match sandboxes.of_step(repo, place)? {
        Some(sandbox) => (sandbox.home().to_owned(), PathBuf::from(SANDBOX_TMP)),
        None => (place.home.clone(), place.tmp.clone()),
    };
    Ok(SeenPlaces {
        worktree: sandboxes.step_directory(repo, &place.worktree)?,
        home,
        tmp,
    })
}

/// Whether steps of the repo can be run here: their sandbox can be had.
pub fn check_steps(runs: &Runs, repo: &Repo) -> Result<(), Problem> {
    let checked = runs.inner().sandboxes.check(repo.config(), RunKind::Step);
    checked.map(drop)
}

/// What a step has in its environment, before what its workflow says.
fn declared_for_steps(runs: &Runs, repo: &Repo) -> BTreeMap<String, String> {
    environment::declared(&runs.inner().config, repo.config())
}

/// What a program on the path of the steps says of its version; or why it says nothing.
pub async fn tool_version(
    runs: &Runs,
    repo: &Repo,
    program: &str,
    option: &str,
) -> Result<String, String> {
    let tool = Tool::try_from(vec![program.to_owned(), option.to_owned()])?;
    let env = declared_for_steps(runs, repo);
    let captured = reuse::ask_tool(&tool, &env).await?;
    let said = [captured.stdout, captured.stderr].concat();
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// A digest under this yard's key of `facts`, and of all that decides what a step of the repo finds: two jobs with the same
/// digest need not both be run.
pub async fn reuse_digest(
    runs: &Runs,
    repo: &Repo,
    facts: &(impl Serialize + Sync),
) -> Result<String, Problem> {
    let env = declared_for_steps(runs, repo);
    let tools = reuse::tool_versions(&repo.config().toolchain, &env).await;
    let tools = tools.map_err(|why| Problem::unprocessable("toolchain", why))?;
    let inner = runs.inner();
    let sandbox = inner.sandboxes.decides(repo.config(), RunKind::Step)?;
    let url = repo.config().url.to_string();
    // Plain data with string keys always serialises.
    let text = serde_json::to_vec(&(url, env, tools, sandbox, facts)).unwrap_or_default();
    Ok(inner.reuse_key.digest(&text))
}

/// Hides what steps of the repo must not show, in what they write besides their output: `more`, and what the variables in
/// `env` say. `masks` is as in [`StepRequest`].
pub fn step_redactor(
    runs: &Runs,
    repo: &Repo,
    (env, more): (&BTreeMap<String, String>, Vec<String>),
    masks: &Path,
) -> io::Result<Option<Redactor>> {
    let mut hidden = hidden_from(runs.inner(), repo, (env, None), masks)?;
    hidden.extend(more);
    Ok(Redactor::new(&hidden))
}

fn hidden_from(
    shared: &RunsInner,
    repo: &Repo,
    (env, token): (&BTreeMap<String, String>, Option<&Token>),
    masks: &Path,
) -> io::Result<Vec<String>> {
    let mut hidden = environment::secrets(&shared.config, repo.config(), env, token);
    hidden.extend(within_reach(&shared.config.secrets, repo.name()));
    hidden.extend(kept_masks(masks)?);
    Ok(hidden)
}

/// What has become of a step's run.
pub fn step_run(runs: &Runs, id: RunId) -> StepRun {
    if let Some(live) = runs.live(id) {
        return StepRun::Live(live);
    }
    match runs.inner().history.load(id) {
        Some(record) => StepRun::Ended(Box::new(record)),
        None => StepRun::NeverStarted,
    }
}

/// Starts the run of a step. The caller holds its worktree and a slot until it has ended.
pub fn start_step(runs: &Runs, request: StepRequest) -> Result<Arc<Live>, Problem> {
    if runs.is_draining() {
        return Err(draining());
    }
    runs.inner().margin.check()?;
    check_steps(runs, &request.repo)?;
    let record = RunRecord::new(request.run_id, spec(&request));
    let mut shown = record.clone();
    shown.hide_env();
    let asked = Asked {
        written: Written {
            action: RequestKind::Step,
            request: RunBody::default(),
        },
        checks: Default::default(),
        spec: Some(shown.spec),
        account: Some(request.account.clone()),
        dropped_env: BTreeMap::new(),
        dropped_stdin: false,
    };
    let account = request.account.clone();
    let users = users_of(&account, &record.spec.repo, &record.spec.branch);
    let (live, drive) = launch::begin(runs, record, &asked, account)
        .map_err(|error| runs.inner().margin.judge(not_recorded(&error)))?;
    runs.inner().usage.count_run(&users);
    runs.inner().tasks.spawn(async move {
        let worker = {
            let drive = drive.clone();
            tokio::spawn(async move { run_step(&drive, request).await })
        };
        // It ends on every path, a defect of ours included.
        let ending = worker
            .await
            .unwrap_or_else(|error| Some(task_failed(&error)));
        drive.close(ending, None).await;
    });
    Ok(live)
}

fn spec(request: &StepRequest) -> RunSpec {
    RunSpec {
        kind: RunKind::Step,
        repo: request.repo.name().clone(),
        branch: request.branch.clone(),
        task: None,
        argv: request.argv.clone(),
        code_sha256: None,
        asked_argv: None,
        env: request.env.clone(),
        timeout: request.timeout,
        background: request.background,
        ready: None,
        test: None,
        sync: SyncMode::None,
        clean: false,
        cold: false,
        without_setup: true,
        stale: true,
        reuse: false,
        on_disconnect: OnDisconnect::Continue,
        principal: request.principal.clone(),
        author: None,
        group: None,
        step: Some(request.step.clone()),
    }
}

async fn run_step(drive: &Drive, request: StepRequest) -> Option<Ending> {
    let live = drive.live();
    if live.viewers().is_stopped() {
        return Some(Ending::CancelledBeforeStart);
    }
    let execute = async {
        match begin(drive, request).await {
            Ok((supervisor, watch)) => drive.attend(supervisor, Some(watch)).await,
            Err(problem) => Some(Ending::Refused(problem)),
        }
    };
    tokio::select! {
        biased;
        ending = execute => ending,
        // Only preparing is dropped here: once the command runs, its own stop is awaited inside.
        () = drive.before_start(live.viewers().stopped()) => Some(Ending::CancelledBeforeStart),
        () = drive.before_start(live.leaving().cancelled()) => None,
    }
}

async fn begin(drive: &Drive, request: StepRequest) -> Result<(Supervisor, Watch), Problem> {
    let (shared, repo) = (drive.shared(), &request.repo);
    let config = &shared.config;
    let sandbox = shared.sandboxes.of_step(repo, &request.place)?;
    let lease = match repo.git().lease() {
        Ok(lease) => lease,
        Err(error) => {
            tracing::warn!(repo = %repo.name(), %error, "a run's output is not searched for the token");
            None
        }
    };
    let token = lease.as_ref().map(|lease: &CredentialLease| &lease.token);
    let hidden = hidden_from(shared, repo, (&request.env, token), &request.masks);
    let mut hidden = hidden.map_err(|error| not_started(drive.shared(), &error))?;
    hidden.extend(request.hidden);
    let mut env = BTreeMap::from(environment::job_counts(&share_of(drive).to_string()));
    env.extend(environment::declared(config, repo.config()));
    for (name, value) in [
        ("BRANCHYARD_REPO", repo.name().to_string()),
        ("BRANCHYARD_BRANCH", request.branch.to_string()),
        ("BRANCHYARD_COMMIT", request.commit.to_string()),
        ("BRANCHYARD_SLUG", slug(repo.name(), &request.branch)),
    ] {
        env.insert(name.to_owned(), value);
    }
    let (home, tmp) = match &sandbox {
        Some(sandbox) => (sandbox.home(), Path::new(SANDBOX_TMP)),
        None => (&*request.place.home, &*request.place.tmp),
    };
    for (name, path) in [("HOME", home), ("TMPDIR", tmp)] {
        env.insert(name.to_owned(), path.to_string_lossy().into_owned());
    }
    env.extend(request.env);
    env.extend(request.secrets);
    if !request.search.is_empty() {
        let path = env.entry("PATH".to_owned()).or_default();
        *path = format!("{}:{path}", request.search.join(":"));
    }
    let cwd = match sandbox {
        // Inside it starts where it should; outside there need not be such a directory.
        Some(_) => request.place.worktree.clone(),
        None => request
            .place
            .worktree
            .join(&request.place.working_directory),
    };
    let mut launch = drive.launch_in(&cwd, env, sandbox, hidden);
    launch.masks = Some(request.masks);
    let about = About {
        commit: request.commit,
        tree: request.tree,
        dirty: None,
        ahead: 0,
        behind: 0,
        fetched_at: None,
        stale: false,
    };
    let started = drive.hand_over(launch, about, false, || Ok::<_, io::Error>(()));
    started
        .await
        .map_err(|error| not_started(drive.shared(), &error))
}
