//! Starting runs: make, task, git.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use crate::app::{code_env, runs};
use crate::mcp::call::Call;
use crate::mcp::outcome::{self, RunOutcome, Wanted};
use crate::mcp::reply::Reply;
use crate::mcp::tasks::MOMENT;
use crate::mcp::tool::{Tool, ToolEntry};
use crate::mcp::waiting::{OnCancel, Until, Wait, until_ended};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{BranchName, CommitId, Problem, RepoName, Scope};
use branchyard_runs::argv::Args;
use branchyard_runs::{RunBody, RunRequest, Sync};

pub(super) fn tools() -> Vec<Tool> {
    let entry = |name, title, description| ToolEntry {
        name,
        title,
        description,
        set: Toolset::Build,
        right: Scope::BuildRun,
        // A build may reach anywhere, but takes no work away.
        effect: Effect::WRITES.reaching_out(),
    };
    vec![
        Tool::new::<Make, RunOutcome<'_>, _>(
            &entry(
                "make",
                "Build a branch",
                "Brings a branch's workspace up to date and runs make there. Answers within `wait` with the \
                 state, the commit, the first errors with their context and the end of the output; a longer \
                 build goes on by itself: call run_wait. A failed build is a normal answer.",
            ),
            make,
        ),
        Tool::new::<Task, RunOutcome<'_>, _>(
            &entry(
                "task",
                "Run a declared task",
                "Runs a task that the operator declared for the repo, such as lint, in a branch's workspace. \
                 Answers as make does; `list` names the tasks of each repo.",
            ),
            task,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Make {
    repo: RepoName,
    branch: BranchName,
    /// Targets, options and variables for make, such as ["-j8", "test", "V=1"], or one string of them.
    #[serde(default)]
    args: Args,
    /// Variables added to the environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// How long the build may take, such as "10m".
    timeout: Option<String>,
    /// How the workspace is brought up to date: auto follows the remote unless that would touch work; none
    /// touches nothing; commit goes to `commit`; reset saves work as a salvage and goes to the remote's head.
    #[serde(default)]
    sync: Sync,
    /// With sync commit: which one.
    commit: Option<CommitId>,
    /// Remove what is not tracked first, for a pristine build; work is saved as a salvage.
    #[serde(default)]
    clean: bool,
    /// Have no part of what was built in other workspaces.
    #[serde(default)]
    cold: bool,
    /// Go on with what is there where the remote cannot be asked.
    #[serde(default)]
    stale: bool,
    /// Join an equal build that is under way in place of starting another.
    #[serde(default)]
    coalesce: bool,
    /// End older builds of the same branch and command.
    #[serde(default)]
    supersede: bool,
    /// Answer from an earlier build that succeeded, if nothing that it saw differs: `cached` names it then.
    /// For checks such as test; it brings back no files.
    #[serde(default)]
    reuse: bool,
    /// How many seconds to wait for the end, 50 at most (the default); 0 only starts it.
    #[serde(default)]
    wait: Wait,
    /// What it means for the build that this call is cancelled: detach lets it go on, cancel ends it.
    #[serde(default)]
    on_cancel: OnCancel,
    /// The same key again finds the same run in place of starting another, as after a lost answer.
    idempotency_key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Task {
    repo: RepoName,
    branch: BranchName,
    /// The task's name.
    task: String,
    /// Further arguments for it: an array, or one string of them.
    #[serde(default)]
    args: Args,
    /// Variables added to the environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// As for make.
    timeout: Option<String>,
    /// As for make.
    #[serde(default)]
    sync: Sync,
    /// As for make.
    #[serde(default)]
    stale: bool,
    /// As for make.
    #[serde(default)]
    reuse: bool,
    /// As for make.
    #[serde(default)]
    wait: Wait,
    /// As for make.
    #[serde(default)]
    on_cancel: OnCancel,
    /// As for make.
    idempotency_key: Option<String>,
}

async fn make(call: Call, asked: Make) -> Result<Reply, Problem> {
    let request = RunBody {
        args: asked.args,
        env: asked.env,
        timeout: asked.timeout,
        sync: asked.sync,
        commit: asked.commit,
        clean: asked.clean,
        cold: asked.cold,
        stale: asked.stale,
        coalesce: asked.coalesce,
        supersede: asked.supersede,
        reuse: asked.reuse,
        ..RunBody::default()
    };
    let place = (&asked.repo, &asked.branch);
    let wait = (asked.wait, asked.on_cancel);
    let key = asked.idempotency_key.as_deref();
    start_and_wait(&call, place, request.make()?, wait, key).await
}

async fn task(call: Call, asked: Task) -> Result<Reply, Problem> {
    let request = RunBody {
        task: Some(asked.task),
        args: asked.args,
        env: asked.env,
        timeout: asked.timeout,
        sync: asked.sync,
        stale: asked.stale,
        reuse: asked.reuse,
        ..RunBody::default()
    };
    let place = (&asked.repo, &asked.branch);
    let wait = (asked.wait, asked.on_cancel);
    let key = asked.idempotency_key.as_deref();
    start_and_wait(&call, place, request.task()?, wait, key).await
}

/// Starts the run and waits for it. That the agent's connection ends does not cancel the run; only `on_cancel` does.
pub(super) async fn start_and_wait(
    call: &Call,
    (repo, branch): (&RepoName, &BranchName),
    request: RunRequest,
    wait: (Wait, OnCancel),
    key: Option<&str>,
) -> Result<Reply, Problem> {
    start_and_show(call, (repo, branch), request, wait, key, Wanted::Since(0)).await
}

/// The same, with what is `wanted` of the output.
pub(super) async fn start_and_show(
    call: &Call,
    (repo, branch): (&RepoName, &BranchName),
    mut request: RunRequest,
    (wait, on_cancel): (Wait, OnCancel),
    key: Option<&str>,
    wanted: Wanted,
) -> Result<Reply, Problem> {
    let since = Instant::now();
    request.set_unwatched(true);
    request.join_own_build();
    code_env::ensure(call.app(), (repo, branch), &request).await?;
    let started = runs::start(call.app(), repo, branch, request, key).await?;
    // A client that gives up on this call finds the run again by it.
    call.progress().tell(format!("run_id {}", started.id)).await;
    let wait = match call.takes_tasks() {
        true => wait.or(MOMENT),
        false => wait,
    };
    let waited = until_ended(call, started.id, (since, wait), on_cancel, Until::Ready);
    let record = waited.await?;
    let reply = outcome::of(call, &record, wanted).await?;
    Ok(match record.state.is_ended() {
        true => reply,
        false => reply.of_run(started.id),
    })
}
