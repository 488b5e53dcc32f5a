//! Pipelines that are started, waited for, cancelled and retried.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::action::only_for;
use crate::app::pipelines;
use crate::mcp::call::Call;
use crate::mcp::pipeline_outcome::{self, PipelineOutcome, PipelineOutcomeInShort};
use crate::mcp::pipeline_waiting::until_settled;
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use crate::mcp::waiting::{OnCancel, Wait};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{
    BranchName, CommitId, PipelineId, PipelineSource, Problem, RepoName, Scope,
};
use branchyard_pipelines::{InputText, PipelineRequest, RetryRequest};

pub(super) fn tools() -> Vec<Tool> {
    let entry = |name, title, description, right, effect| ToolEntry {
        name,
        title,
        description,
        set: Toolset::Pipelines,
        right,
        effect,
    };
    vec![
        Tool::new::<PipelineRun, PipelineOutcome<'_>, _>(
            &entry(
                "pipeline_run",
                "Run a workflow file",
                "Runs a workflow file (a subset of GitHub Actions, in .branchyard/workflows) at the newest commit of a \
                 branch, also one that is not pushed, beside all workspaces. Answers within `wait` with the jobs, and for \
                 each step that failed its errors and the end of its output; a longer one goes on by itself: call \
                 pipeline_wait. A failed pipeline is a normal answer.",
                Scope::BuildRun,
                Effect::WRITES.reaching_out(),
            ),
            start,
        ),
        Tool::new::<PipelineWait, PipelineOutcomeInShort, _>(
            &entry(
                "pipeline_wait",
                "Wait for a pipeline",
                "Waits for the end of a pipeline, at most `wait`, and answers as pipeline_run does. Call it again until \
                 `ended`; a pipeline survives restarts of the daemon.",
                Scope::RepoRead,
                Effect::READS,
            ),
            wait,
        ),
        Tool::new::<PipelineControl, PipelineOutcomeInShort, _>(
            &entry(
                "pipeline_control",
                "Cancel or retry a pipeline",
                "Cancels a pipeline, or retries one that has ended: the jobs that failed, or those that are named, run \
                 again at the same commit, with the jobs that need them. Answers as pipeline_run does.",
                Scope::BuildRun,
                Effect::DESTROYS,
            ),
            control,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PipelineRun {
    repo: RepoName,
    branch: BranchName,
    /// A commit of that branch, in place of its newest.
    commit: Option<CommitId>,
    /// The workflow file, as its path or its name alone. Needed where there are several.
    file: Option<String>,
    /// The event that it is run for: workflow_dispatch where the file has that, else its first.
    event: Option<String>,
    /// The inputs of workflow_dispatch.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    inputs: BTreeMap<String, InputText>,
    /// workspace: a snapshot of the files in the branch's workspace, in place of a commit.
    #[serde(default)]
    source: PipelineSource,
    /// Seconds to wait for the end, 50 at most (the default).
    #[serde(default)]
    wait: Wait,
    /// If this call is cancelled: detach lets the pipeline go on, cancel ends it.
    #[serde(default)]
    on_cancel: OnCancel,
    /// The same key finds the same pipeline, as after a lost answer.
    idempotency_key: Option<String>,
}

async fn start(call: Call, asked: PipelineRun) -> Result<Reply, Problem> {
    let since = Instant::now();
    let request = PipelineRequest {
        branch: Some(asked.branch),
        commit: asked.commit,
        file: asked.file,
        event: asked.event,
        inputs: asked.inputs,
        source: asked.source,
    };
    let key = asked.idempotency_key.as_deref();
    let starting = pipelines::start(call.app(), &asked.repo, request, key);
    let id = call.in_time(starting).await?;
    // A client that gives up on this call finds the pipeline again by it.
    call.progress().tell(format!("pipeline_id {id}")).await;
    let record = until_settled(&call, id, (since, asked.wait), (false, asked.on_cancel)).await?;
    pipeline_outcome::of(&call, &record, (false, None)).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PipelineWait {
    pipeline_id: PipelineId,
    /// How many seconds to wait for the end, 50 at most (the default); 0 only looks.
    #[serde(default)]
    wait: Wait,
    /// Answer as soon as a job has failed.
    #[serde(default)]
    fail_fast: bool,
}

async fn wait(call: Call, asked: PipelineWait) -> Result<Reply, Problem> {
    let wait = (Instant::now(), asked.wait);
    let (id, ends) = (asked.pipeline_id, (asked.fail_fast, OnCancel::Detach));
    let record = until_settled(&call, id, wait, ends).await?;
    pipeline_outcome::of(&call, &record, (false, None)).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PipelineControl {
    pipeline_id: PipelineId,
    action: ControlAction,
    /// For retry: the jobs, as `pipelines` names them; all that failed if left out.
    #[serde(default)]
    jobs: Vec<String>,
    /// Seconds to wait for the end, 50 at most (the default).
    #[serde(default)]
    wait: Wait,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ControlAction {
    Cancel,
    Retry,
}

async fn control(call: Call, asked: PipelineControl) -> Result<Reply, Problem> {
    let (since, id) = (Instant::now(), asked.pipeline_id);
    only_for("jobs", !asked.jobs.is_empty(), "retry", asked.action)?;
    match asked.action {
        ControlAction::Cancel => pipelines::cancel(call.app(), id)?,
        ControlAction::Retry => {
            let request = RetryRequest { jobs: asked.jobs };
            pipelines::retry(call.app(), id, &request)?
        }
    };
    let ends = (false, OnCancel::Detach);
    let record = until_settled(&call, id, (since, asked.wait), ends).await?;
    pipeline_outcome::of(&call, &record, (false, None)).await
}
