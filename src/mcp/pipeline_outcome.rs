//! How a pipeline stands, for an agent: its state, its jobs, what failed in them, and how to go on.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::call::Call;
use super::outcome;
use super::page::paged;
use super::pipeline_failures::{StepFailure, failed_steps};
use super::reply::{self, Reply, cut};
use branchyard_model::{
    AnsweredBy, BranchName, CommitId, JobRecord, JobState, PipelineId, PipelineRecord,
    PipelineState, Problem, RepoName, RunId, StepState, TestCounts, Warning,
};

/// What the failed steps may take together, in each form: `run_log` and `diagnostics` have the rest.
const ROOM: usize = 5_000;
/// What is shown of names and reasons.
const NAME: usize = 200;
const REASON: usize = 1_000;

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PipelineOutcome<'a> {
    pipeline_id: PipelineId,
    repo: &'a RepoName,
    branch: &'a BranchName,
    commit: &'a CommitId,
    /// The workflow file.
    file: &'a str,
    event: &'a str,
    /// queued or running; or how it ended: succeeded, failed, cancelled or rejected.
    state: &'static str,
    ended: bool,
    /// Rises with each retry.
    attempt: u32,
    duration_ms: Option<u64>,
    /// Why it ended as it did, where the state does not say all.
    reason: Option<String>,
    /// What to know, such as steps that are left out.
    notices: &'a [Warning],
    /// Those that failed first, then those under way.
    jobs: Vec<JobOutcome<'a>>,
    /// The steps that failed, each with its complaints and the end of its output.
    failures: Vec<StepFailure<'a>>,
    /// Jobs or output were left out here.
    truncated: bool,
    /// Where the list of jobs goes on: pass it to `pipelines`.
    next_cursor: Option<String>,
    /// What to do next.
    next: Option<String>,
}

/// What the schemas of further tools tell of a [`PipelineOutcome`], all of whose fields `pipeline_run` lists.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "for its schema alone")]
pub(super) struct PipelineOutcomeInShort {
    pipeline_id: PipelineId,
    state: String,
    ended: bool,
    next: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct JobOutcome<'a> {
    /// For pipeline_control.
    job: &'a str,
    name: String,
    /// blocked, waiting, queued, running, succeeded, failed, timed_out, cancelled, lost, rejected, skipped or reused.
    state: &'static str,
    reason: Option<String>,
    /// The step that it is at.
    step: Option<String>,
    /// The steps that have begun, with their runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<StepOutcome>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    artifacts: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, u64>>")]
    tests: Option<TestCounts>,
    /// Until then held_worktree reads what it left on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    held_until: Option<Timestamp>,
    /// The earlier job that answered for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered_by: Option<&'a AnsweredBy>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct StepOutcome {
    number: usize,
    name: String,
    state: &'static str,
    exit_code: Option<i32>,
    /// For run_log and diagnostics.
    run_id: Option<RunId>,
}

/// The pipeline as it is now; with its steps where `with_steps`, and its jobs from `cursor` on.
pub(super) async fn of(
    call: &Call,
    record: &PipelineRecord,
    (with_steps, cursor): (bool, Option<&str>),
) -> Result<Reply, Problem> {
    let mut jobs: Vec<_> = record.jobs.iter().collect();
    jobs.sort_by_key(|job| rank(job));
    // Who reads on has seen what failed.
    let (failed, more_failed) = match cursor {
        None => failed_steps(call, record).await?,
        Some(_) => (Vec::new(), false),
    };
    let room = ROOM / failed.len().max(1);
    paged(&jobs, cursor, |page| {
        let shown = failed
            .iter()
            .map(|step| step.shown(room.min(page.room / failed.len().max(1))));
        let (failures, cut): (Vec<_>, Vec<_>) = shown.unzip();
        let outcome = PipelineOutcome {
            pipeline_id: record.pipeline_id,
            repo: &record.repo,
            branch: &record.branch,
            commit: &record.commit,
            file: &record.file,
            event: &record.event,
            state: record.state.as_str(),
            ended: record.state.is_ended(),
            attempt: record.attempt,
            duration_ms: record.duration_ms,
            reason: reason(record.error.clone(), record.reason.as_deref()),
            notices: &record.warnings,
            jobs: page
                .shown
                .iter()
                .map(|job| JobOutcome::of(job, with_steps))
                .collect(),
            failures,
            truncated: more_failed || page.next_cursor.is_some() || cut.contains(&true),
            next_cursor: page.next_cursor.clone(),
            next: next(record),
        };
        call.reply(&outcome, text(&outcome))
    })
}

/// Those that failed stand first, then those under way, each kind in the order of the file.
fn rank(job: &JobRecord) -> u8 {
    match job.state {
        state if state.is_failure() => 0,
        JobState::Running | JobState::Waiting | JobState::Queued => 1,
        JobState::Blocked => 2,
        _ => 3,
    }
}

fn reason(error: Option<Problem>, reason: Option<&str>) -> Option<String> {
    let error = error.map(reply::words);
    let reason = error.or_else(|| reason.map(str::to_owned));
    reason.map(|reason| cut(&reason, REASON))
}

impl<'a> JobOutcome<'a> {
    fn of(job: &'a JobRecord, with_steps: bool) -> Self {
        let mut steps = job.steps.iter();
        let running = steps.find(|step| step.state == StepState::Running);
        let begun = job.steps.iter().filter(|step| {
            let is_told = matches!(step.state, StepState::Pending | StepState::Skipped);
            with_steps && !is_told
        });
        Self {
            job: &job.job,
            name: cut(&job.name, NAME),
            state: job.state.as_str(),
            reason: reason(job.error.clone(), job.reason.as_deref()),
            step: running.map(|step| format!("{} {}", step.number, cut(&step.name, NAME))),
            steps: begun
                .map(|step| StepOutcome {
                    number: step.number,
                    name: cut(&step.name, NAME),
                    state: step.state.as_str(),
                    exit_code: step.exit_code,
                    run_id: step.run_id,
                })
                .collect(),
            artifacts: &job.artifacts,
            tests: job.tests,
            held_until: job.held_until,
            answered_by: job.answered_by.as_ref(),
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{}: {}", self.job, self.state);
        if self.job != self.name {
            text = format!("{} ({}): {}", self.job, self.name, self.state);
        }
        if let Some(step) = &self.step {
            text.push_str(&format!(", at step {step}"));
        }
        if let Some(reason) = &self.reason {
            text.push_str(&format!(": {reason}"));
        }
        if let Some(earlier) = self.answered_by {
            let (job, pipeline, commit) = (&earlier.job, earlier.pipeline, &earlier.commit);
            text.push_str(&format!(
                ": answered by {job} of {pipeline}, built at {commit}"
            ));
        }
        if let Some(tests) = &self.tests {
            text.push_str(&format!(", tests: {tests}"));
        }
        if !self.artifacts.is_empty() {
            text.push_str(&format!(", artifacts: {}", self.artifacts.join(", ")));
        }
        if let Some(until) = self.held_until {
            text.push_str(&format!(
                ", held until {until}: held_worktree reads its files"
            ));
        }
        text.push('\n');
        for step in &self.steps {
            let (number, name, state) = (step.number, &step.name, step.state);
            text.push_str(&format!("  {number} {name}: {state}"));
            if let Some(run) = step.run_id {
                text.push_str(&format!(" (run_id {run})"));
            }
            text.push('\n');
        }
        text
    }
}

fn next(record: &PipelineRecord) -> Option<String> {
    let id = record.pipeline_id;
    match record.state {
        PipelineState::Queued | PipelineState::Running => Some(format!(
            "It goes on by itself. Call pipeline_wait with pipeline_id {id} until it has ended."
        )),
        PipelineState::Failed => Some(format!(
            "Mend what failed, commit it, and call pipeline_run again. Where the commit is not at fault, call pipeline_control with pipeline_id {id} and action retry."
        )),
        PipelineState::Succeeded => {
            let mut jobs = record.jobs.iter();
            let has_artifacts = jobs.any(|job| !job.artifacts.is_empty());
            has_artifacts.then(|| {
                format!("Call artifacts with pipeline_id {id} for what its jobs left behind.")
            })
        }
        PipelineState::Cancelled | PipelineState::Rejected => None,
    }
}

fn text(outcome: &PipelineOutcome<'_>) -> String {
    let PipelineOutcome {
        pipeline_id,
        repo,
        branch,
        commit,
        file,
        event,
        state,
        ..
    } = outcome;
    let mut text = format!("{file} on {repo}/{branch} ({event}): {state}, commit {commit}");
    if outcome.attempt > 1 {
        text.push_str(&format!(", attempt {}", outcome.attempt));
    }
    text.push_str(&format!(" (pipeline_id {pipeline_id})\n"));
    if let Some(reason) = &outcome.reason {
        text.push_str(&format!("{reason}\n"));
    }
    text.push_str(&outcome::notices(outcome.notices));
    text.extend(outcome.jobs.iter().map(JobOutcome::text));
    text.extend(outcome.failures.iter().map(StepFailure::text));
    if let Some(cursor) = &outcome.next_cursor {
        text.push_str(&format!("(cut; more jobs with cursor {cursor:?})\n"));
    }
    if let Some(next) = &outcome.next {
        text.push_str(&format!("--- next\n{next}"));
    }
    text
}
