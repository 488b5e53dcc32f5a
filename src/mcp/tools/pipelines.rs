//! Pipelines that there are: a list of them, or one of them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::pipelines;
use crate::mcp::call::Call;
use crate::mcp::pipeline_outcome;
use crate::mcp::reply::{Reply, fitted_items};
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{
    BranchName, CommitId, PipelineId, PipelineRecord, PipelineState, Problem, RepoName, Scope,
};
use branchyard_pipelines::PipelineFilter;

/// Pipelines on one page, where they fit.
const PAGE: usize = 50;

pub(super) fn tool() -> Tool {
    let entry = ToolEntry {
        name: "pipelines",
        title: "List or show pipelines",
        description: "Lists the pipelines of a repo, newest first; or shows one, with its jobs, their steps and what failed. \
                      `run_log` reads the log of a step by its run_id.",
        set: Toolset::Pipelines,
        right: Scope::RepoRead,
        effect: Effect::READS,
    };
    Tool::new::<PipelinesArgs, ListedOrShown<'_>, _>(&entry, list_or_show)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PipelinesArgs {
    /// The repo whose pipelines are listed.
    repo: Option<RepoName>,
    /// Show this one, in place of a list.
    pipeline_id: Option<PipelineId>,
    /// Only pipelines of this branch.
    branch: Option<BranchName>,
    /// Only at this commit.
    commit: Option<CommitId>,
    /// Only in this state.
    state: Option<PipelineState>,
    /// Only of this workflow file: its path, or its name alone.
    file: Option<String>,
    /// An answer's next_cursor.
    cursor: Option<String>,
}

/// What the schema tells of both answers: a list, or a pipeline as `pipeline_run` answers it.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
struct ListedOrShown<'a> {
    /// Of a list.
    pipelines: Option<Vec<ListedPipeline<'a>>>,
    /// Of one that is shown.
    pipeline_id: Option<PipelineId>,
    state: Option<String>,
    ended: Option<bool>,
    truncated: bool,
    next_cursor: Option<String>,
    next: Option<String>,
}

#[derive(Debug, Serialize)]
struct ListedPipelines<'a> {
    pipelines: Vec<ListedPipeline<'a>>,
    truncated: bool,
    next_cursor: Option<PipelineId>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct ListedPipeline<'a> {
    pipeline_id: PipelineId,
    branch: &'a BranchName,
    commit: &'a CommitId,
    file: &'a str,
    event: &'a str,
    state: &'static str,
    attempt: u32,
    created_at: Timestamp,
    duration_ms: Option<u64>,
    jobs: usize,
    /// The jobs that failed.
    failed: Vec<&'a str>,
}

async fn list_or_show(call: Call, asked: PipelinesArgs) -> Result<Reply, Problem> {
    match asked.pipeline_id {
        Some(id) => {
            let record = pipelines::get(call.app(), id)?;
            pipeline_outcome::of(&call, &record, (true, asked.cursor.as_deref())).await
        }
        None => list(&call, asked).await,
    }
}

async fn list(call: &Call, asked: PipelinesArgs) -> Result<Reply, Problem> {
    let repo = asked.repo.or_else(|| call.scope().repo().cloned());
    let repo = repo.ok_or_else(|| {
        Problem::unprocessable("repo", "a list is of one repo, and none is named")
            .help("name the repo, or one pipeline by pipeline_id")
    })?;
    let before = asked.cursor.as_deref().map(PipelineId::parse).transpose();
    let filter = PipelineFilter {
        branch: asked.branch,
        commit: asked.commit,
        state: asked.state,
        file: asked.file,
        before: before.map_err(|problem| problem.field("cursor"))?,
    };
    let (found, more) = pipelines::list(call.app(), &repo, filter, PAGE).await?;
    fitted_items(found.len(), |count| {
        let shown = &found[..count];
        let truncated = more || count < found.len();
        let next = shown.last().filter(|_| truncated);
        let listed = ListedPipelines {
            pipelines: shown.iter().map(item).collect(),
            truncated,
            next_cursor: next.map(|record| record.pipeline_id),
        };
        let lines: String = listed.pipelines.iter().map(line).collect();
        call.reply(&listed, lines)
    })
}

fn item(record: &PipelineRecord) -> ListedPipeline<'_> {
    let failed = record.jobs.iter().filter(|job| job.state.is_failure());
    ListedPipeline {
        pipeline_id: record.pipeline_id,
        branch: &record.branch,
        commit: &record.commit,
        file: &record.file,
        event: &record.event,
        state: record.state.as_str(),
        attempt: record.attempt,
        created_at: record.created_at,
        duration_ms: record.duration_ms,
        jobs: record.jobs.len(),
        failed: failed.map(|job| job.job.as_str()).collect(),
    }
}

fn line(item: &ListedPipeline<'_>) -> String {
    let (id, file, branch, commit) = (item.pipeline_id, item.file, item.branch, item.commit);
    let failed = match item.failed.is_empty() {
        true => String::new(),
        false => format!(": {}", item.failed.join(", ")),
    };
    format!("{id} {file} {branch} {commit}: {}{failed}\n", item.state)
}
