//! Pipelines that there are: a list of them, or one of them.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::test_history::{self, ListedTest, ListedTests};
use crate::app::pipelines;
use crate::mcp::call::Call;
use crate::mcp::pipeline_outcome;
use crate::mcp::reply::{Reply, fitted_items};
use crate::mcp::tool::{Tool, ToolEntry};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_model::{
    BranchName, CommitId, PipelineCheck, PipelineId, PipelineRecord, PipelineState, Problem,
    RepoName, Scope, WorkflowProblem,
};
use branchyard_pipelines::{PipelineFilter, PipelineRequest};

/// Pipelines on one page, where they fit.
const PAGE: usize = 50;

pub(super) fn tool() -> Tool {
    let entry = ToolEntry {
        name: "pipelines",
        title: "List or show pipelines",
        description: "Lists a repo's pipelines, newest first, or its `tests` over time; shows one: jobs, steps, what failed; \
                      or with `check` says what pipeline_run would do. `run_log` reads a step's log by its run_id.",
        set: Toolset::Pipelines,
        right: Scope::RepoRead,
        effect: Effect::READS,
    };
    Tool::new::<PipelinesArgs, ListedOrShown<'_>, _>(&entry, list_or_show)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PipelinesArgs {
    /// A repository, by its name.
    repo: Option<RepoName>,
    /// Show this one, in place of a list.
    pipeline_id: Option<PipelineId>,
    /// Such as main or feature/login.
    branch: Option<BranchName>,
    /// Only at this commit.
    commit: Option<CommitId>,
    /// Only in this state.
    state: Option<PipelineState>,
    /// Only of this workflow file: path or name.
    file: Option<String>,
    /// An answer's next_cursor.
    cursor: Option<String>,
    /// Say which jobs of `branch` would run or be reused, and what is wrong with the file.
    #[serde(default)]
    check: bool,
    /// Its tests, in place of pipelines.
    tests: Option<ListedTests>,
}

/// What the schema tells of the answers: a list, a pipeline as `pipeline_run` answers it, or what one would do.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
struct ListedOrShown<'a> {
    /// Of a list.
    pipelines: Option<Vec<ListedPipeline<'a>>>,
    /// Of `tests`: those that fail first.
    tests: Option<Vec<ListedTest<'a>>>,
    /// Of one that is shown.
    pipeline_id: Option<PipelineId>,
    state: Option<String>,
    ended: Option<bool>,
    /// Of `check`, which also has `jobs`: whether there would be a pipeline, and what is wrong if not.
    valid: Option<bool>,
    problems: Option<Vec<WorkflowProblem>>,
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
        _ if asked.check => check(&call, asked).await,
        Some(id) => {
            let record = pipelines::get(call.app(), id)?;
            pipeline_outcome::of(&call, &record, (true, asked.cursor.as_deref())).await
        }
        None => match asked.tests {
            Some(wanted) => {
                let of = (repo(&call, &asked)?, asked.branch);
                test_history::list(&call, of, wanted, asked.cursor.as_deref()).await
            }
            None => list(&call, asked).await,
        },
    }
}

fn repo(call: &Call, asked: &PipelinesArgs) -> Result<RepoName, Problem> {
    let repo = asked.repo.clone().or_else(|| call.scope().repo().cloned());
    repo.ok_or_else(|| {
        Problem::unprocessable("repo", "no repo is named")
            .help("name the repo, or one pipeline by pipeline_id")
    })
}

#[derive(Debug, Serialize)]
struct Checked<'a> {
    #[serde(flatten)]
    check: &'a PipelineCheck,
    truncated: bool,
}

async fn check(call: &Call, asked: PipelinesArgs) -> Result<Reply, Problem> {
    let repo = repo(call, &asked)?;
    let request = PipelineRequest {
        branch: asked.branch,
        commit: asked.commit,
        file: asked.file,
        ..PipelineRequest::default()
    };
    let checking = pipelines::check(call.app(), &repo, &request);
    let whole = call.in_time(checking).await?;
    let (jobs, problems) = (whole.jobs.len(), whole.problems.len());
    fitted_items(jobs + problems, |count| {
        let mut check = whole.clone();
        check.problems.truncate(count);
        check.jobs.truncate(count.saturating_sub(problems));
        let wrong = check.problems.iter().map(|problem| {
            let (file, line, column) = (&problem.file, problem.line, problem.column);
            format!(
                "{file}:{line}:{column}: {} ({})\n",
                problem.message, problem.code
            )
        });
        let would = check.jobs.iter().map(|job| {
            let why = job.reason.as_deref().map(|why| format!(": {why}"));
            let why = why.unwrap_or_default();
            format!("{} would {}{why}\n", job.name, job.would.as_str())
        });
        let text: String = wrong.chain(would).collect();
        let truncated = count < jobs + problems;
        let check = &check;
        call.reply(&Checked { check, truncated }, text)
    })
}

async fn list(call: &Call, asked: PipelinesArgs) -> Result<Reply, Problem> {
    let repo = repo(call, &asked)?;
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
