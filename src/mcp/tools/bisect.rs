//! `bisect`: the first bad commit between two.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::app::pipelines;
use crate::mcp::call::Call;
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use crate::mcp::waiting::Wait;
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{
    BisectCommit, BisectRecord, BranchName, PipelineId, PipelineRecord, Problem, RepoName, Scope,
    Warning,
};
use branchyard_pipelines::BisectRequest;
use branchyard_runs::argv::Args;

pub(super) fn tool() -> Tool {
    let entry = ToolEntry {
        name: "bisect",
        title: "Find the first bad commit",
        description: "Finds the commit that made a command fail, between a good and a bad one. Runs the command at several \
                      commits at once, each in a clean worktree: exit 0 is good, 125 skips, 1 to 127 is bad. Answers within \
                      `wait` and goes on by itself: the same call with the same idempotency_key waits on.",
        set: Toolset::Pipelines,
        right: Scope::BuildRun,
        effect: Effect::WRITES.reaching_out(),
    };
    Tool::new::<Bisect, BisectOutcome<'_>, _>(&entry, bisect)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Bisect {
    repo: RepoName,
    branch: BranchName,
    /// Where all was well: a commit id, tag or branch, or one from there such as v1.2~3.
    good: String,
    /// A bad commit of the branch; its newest if left out.
    bad: Option<String>,
    /// A declared task that tests a commit.
    task: Option<String>,
    /// In place of task: program and arguments.
    #[serde(default)]
    argv: Vec<String>,
    /// Further arguments for the task.
    #[serde(default)]
    args: Args,
    /// Variables added to the environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// How long the command may take at one commit, such as "10m".
    timeout: Option<String>,
    /// Suspect only commits that change one of these.
    #[serde(default)]
    paths: Vec<String>,
    /// Seconds to wait for the end, 50 at most (the default).
    #[serde(default)]
    wait: Wait,
    /// The same key finds the same bisect.
    idempotency_key: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct BisectOutcome<'a> {
    /// The pipeline that it is: pipeline_wait and pipeline_control take this.
    pipeline_id: PipelineId,
    /// queued or running; or succeeded, failed or cancelled.
    state: &'static str,
    ended: bool,
    /// How it ended, in words.
    reason: Option<&'a str>,
    /// What to do where it found nothing.
    help: Option<&'a str>,
    /// How many commits may be the first bad one by now, and the round that is under way.
    left: usize,
    round: u32,
    first_bad: Option<&'a BisectCommit>,
    /// Where skipped commits leave several: all of them.
    suspects: &'a [BisectCommit],
    skipped: &'a [BisectCommit],
    notices: &'a [Warning],
}

async fn bisect(call: Call, asked: Bisect) -> Result<Reply, Problem> {
    let began = Instant::now();
    let key = asked.idempotency_key;
    let request = BisectRequest {
        branch: Some(asked.branch),
        good: asked.good,
        bad: asked.bad,
        task: asked.task,
        argv: asked.argv,
        args: asked.args,
        env: asked.env,
        timeout: asked.timeout,
        paths: asked.paths,
        parallel: None,
    };
    let starting = pipelines::start_bisect(call.app(), &asked.repo, request, key.as_deref());
    let id = call.in_time(starting).await?;
    if let Some(live) = pipelines::live(call.app(), id)? {
        tokio::select! {
            () = live.settled(false) => {}
            () = tokio::time::sleep_until(asked.wait.end(began)) => {}
            () = call.cancelled().cancelled() => {}
        }
    }
    let record = pipelines::get(call.app(), id)?;
    let bisect = record.bisect.as_ref().ok_or_else(|| no_bisect(id))?;
    call.reply(&outcome(&record, bisect), in_words(&record, bisect))
}

fn outcome<'a>(record: &'a PipelineRecord, bisect: &'a BisectRecord) -> BisectOutcome<'a> {
    let answer = bisect.answer.as_ref();
    let error = record.error.as_ref();
    BisectOutcome {
        pipeline_id: record.pipeline_id,
        state: record.state.as_str(),
        ended: record.state.is_ended(),
        reason: record.reason.as_deref(),
        help: error.and_then(|error| error.help.as_deref()),
        left: bisect.left,
        round: bisect.rounds,
        first_bad: answer.and_then(|answer| answer.first_bad.as_ref()),
        suspects: answer.map_or(&[], |answer| &answer.suspects),
        skipped: answer.map_or(&[], |answer| &answer.skipped),
        notices: &record.warnings,
    }
}

fn in_words(record: &PipelineRecord, bisect: &BisectRecord) -> String {
    let (id, state) = (record.pipeline_id, record.state.as_str());
    match &record.reason {
        Some(reason) if record.state.is_ended() => format!("pipeline {id} is {state}: {reason}"),
        _ => format!(
            "pipeline {id} is {state}: {} commits are left in round {}",
            bisect.left, bisect.rounds
        ),
    }
}

fn no_bisect(id: PipelineId) -> Problem {
    let detail = format!("the pipeline {id} is no bisect");
    Problem::unprocessable("idempotency_key", detail)
}
