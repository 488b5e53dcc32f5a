//! What failed in a pipeline: each step with what it complained about and the end of its output, so that an agent can
//! mend it without asking for more.

use schemars::JsonSchema;
use serde::Serialize;

use super::call::Call;
use super::complaints::{self, Complaint};
use super::failed_tests::{self, FailedTests};
use super::reply::cut;
use super::window::Window;
use crate::app::{pipelines, runs};
use branchyard_model::{
    JobRecord, PipelineRecord, Problem, RunId, StepRecord, StepState, TestCase,
};

/// So many are shown at once; `pipelines` names the runs of all steps.
const MOST_STEPS: usize = 5;
/// So many complaints of each are shown at once; `diagnostics` has them all.
const MOST_COMPLAINTS: usize = 3;
/// What is shown of names and reasons.
const NAME: usize = 200;
const REASON: usize = 1_000;

/// A step that failed, as agents see it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StepFailure<'a> {
    job: &'a str,
    step: usize,
    name: String,
    state: &'static str,
    exit_code: Option<i32>,
    reason: Option<String>,
    /// For run_log and diagnostics.
    run_id: Option<RunId>,
    /// Of the first step of a job that failed: the job's tests that failed.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    failed_tests: &'a [TestCase],
    /// The first that matter, each with the log around it.
    diagnostics: &'a [Complaint],
    /// The end of what it printed.
    output: String,
}

/// The same with all that could be shown.
pub(super) struct FailedStep<'a> {
    job: &'a JobRecord,
    step: &'a StepRecord,
    tests: FailedTests,
    complaints: Vec<Complaint>,
    has_more: bool,
    printed: Option<Window>,
}

/// The steps that failed, those of jobs that count first; and whether there are more.
pub(super) async fn failed_steps<'a>(
    call: &Call,
    record: &'a PipelineRecord,
) -> Result<(Vec<FailedStep<'a>>, bool), Problem> {
    let mut found: Vec<_> = record
        .jobs
        .iter()
        .flat_map(|job| job.steps.iter().map(move |step| (job, step)))
        .filter(|(_, step)| is_failure(step.state))
        .collect();
    found.sort_by_key(|(job, step)| (job.continue_on_error, step.continue_on_error));
    let has_more = found.len() > MOST_STEPS;
    found.truncate(MOST_STEPS);
    let mut failed = Vec::with_capacity(found.len());
    for (job, step) in found {
        let mut shown = FailedStep::of(call, job, step).await?;
        // They are the job's: they are told once.
        let is_first = failed
            .iter()
            .all(|other: &FailedStep| other.job.job != job.job);
        if is_first && job.tests.is_some_and(|counts| counts.failed > 0) {
            // Where their list cannot be had any more, the count of the job still tells of them.
            let report = pipelines::tests(call.app(), record.pipeline_id, &job.job).await;
            shown.tests = report.map(FailedTests::of).unwrap_or_default();
        }
        failed.push(shown);
    }
    Ok((failed, has_more))
}

fn is_failure(state: StepState) -> bool {
    matches!(
        state,
        StepState::Failed | StepState::TimedOut | StepState::Lost | StepState::Rejected
    )
}

impl<'a> FailedStep<'a> {
    async fn of(call: &Call, job: &'a JobRecord, step: &'a StepRecord) -> Result<Self, Problem> {
        let mut failed = Self {
            job,
            step,
            tests: FailedTests::default(),
            complaints: Vec::new(),
            has_more: false,
            printed: None,
        };
        // A run may have been let go of, and the pipeline is still there.
        let view = step
            .run_id
            .map(|run| (run, runs::view_run(call.app(), run)));
        let Some((run, Ok(view))) = view else {
            return Ok(failed);
        };
        let found = runs::diagnostics(call.app(), run).await?.items;
        let first = &found[..found.len().min(MOST_COMPLAINTS)];
        failed.has_more = first.len() < found.len();
        failed.complaints = complaints::with_context(&view, first).await?;
        failed.printed = Some(Window::before_end(&view, 0).await?);
        Ok(failed)
    }

    /// As much as fits into `room`, tests and complaints first as long as they leave half of it to the output; and whether that is
    /// not all.
    pub(super) fn shown(&self, room: usize) -> (StepFailure<'_>, bool) {
        let (tests, mut spent) = self.tests.within(room / 2);
        let mut count = 0;
        while count < self.complaints.len() && spent + self.complaints[count].size() <= room / 2 {
            spent += self.complaints[count].size();
            count += 1;
        }
        let printed = self.printed.as_ref();
        let printed = printed.map(|window| window.tail(room - spent));
        let is_cut = self.has_more
            || tests.len() < self.tests.count()
            || count < self.complaints.len()
            || printed.as_ref().is_some_and(|shown| shown.cut);
        let (job, step) = (self.job, self.step);
        let failure = StepFailure {
            job: &job.job,
            step: step.number,
            name: cut(&step.name, NAME),
            state: step.state.as_str(),
            exit_code: step.exit_code,
            reason: step.reason.as_deref().map(|reason| cut(reason, REASON)),
            run_id: step.run_id,
            failed_tests: tests,
            diagnostics: &self.complaints[..count],
            output: printed.map(|shown| shown.text).unwrap_or_default(),
        };
        (failure, is_cut)
    }
}

impl StepFailure<'_> {
    pub(super) fn text(&self) -> String {
        let mut text = format!("--- {}, step {}: {}: ", self.job, self.step, self.name);
        text.push_str(self.state);
        if let Some(code) = self.exit_code {
            text.push_str(&format!(", exit code {code}"));
        }
        if let Some(reason) = &self.reason {
            text.push_str(&format!(", {reason}"));
        }
        if let Some(run) = self.run_id {
            text.push_str(&format!(" (run_id {run})"));
        }
        text.push('\n');
        text.push_str(&failed_tests::text(self.failed_tests));
        text.extend(self.diagnostics.iter().map(Complaint::text));
        text.push_str(&self.output);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text
    }
}
