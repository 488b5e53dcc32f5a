//! Starting runs: make, task, git.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use crate::app::{code_env, runs};
use crate::mcp::call::Call;
use crate::mcp::outcome::{self, RunOutcome, RunOutcomeInShort, Wanted};
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
        Tool::new::<Task, RunOutcomeInShort, _>(
            &entry(
                "task",
                "Run a declared task",
                "Runs a task that the operator declared for the repo, such as lint, in a branch's workspace. \
                 Answers as make does; `list` names the tasks of each repo.",
            ),
            task,
        ),
        Tool::new::<Test, RunOutcomeInShort, _>(
            &entry(
                "test",
                "Run tests",
                "Runs the tests of a branch: argv, task, the task test, or make test. Answers as make does, with counts and failed tests: new, flaky, and known on base.",
            ),
            test,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Make {
    repo: RepoName,
    branch: BranchName,
    /// Targets, options and variables, such as ["-j8", "test", "V=1"], or one string.
    #[serde(default)]
    args: Args,
    /// Variables added to the environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// How long the build may take, such as "10m".
    timeout: Option<String>,
    /// auto follows the remote unless that would touch work; none
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
    /// Answer from an earlier build that succeeded, if nothing that it saw differs; it brings back no files.
    #[serde(default)]
    reuse: bool,
    /// Seconds to wait for the end, 50 at most (the default).
    #[serde(default)]
    wait: Wait,
    /// If this call is cancelled: detach lets the run go on, cancel ends it.
    #[serde(default)]
    on_cancel: OnCancel,
    /// The same key finds the same run, as after a lost answer.
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

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Test {
    repo: RepoName,
    branch: BranchName,
    /// A command in place of a task, on what is in the workspace now; needs code:run.
    #[serde(default)]
    argv: Vec<String>,
    /// The task.
    task: Option<String>,
    /// The branch to compare with, if not the default branch.
    base: Option<BranchName>,
    /// JUnit files that they write, as globs.
    #[serde(default)]
    reports: Vec<String>,
    /// As for make.
    timeout: Option<String>,
    /// As for make.
    #[serde(default)]
    sync: Sync,
    /// As for make.
    #[serde(default)]
    wait: Wait,
}

async fn test(call: Call, asked: Test) -> Result<Reply, Problem> {
    let body = RunBody {
        argv: asked.argv,
        task: asked.task,
        base: asked.base,
        reports: asked.reports,
        timeout: asked.timeout,
        sync: asked.sync,
        ..RunBody::default()
    };
    let request = runs::test_request(call.app(), &asked.repo, body)?;
    let place = (&asked.repo, &asked.branch);
    let wait = (asked.wait, OnCancel::default());
    start_and_wait(&call, place, request, wait, None).await
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
