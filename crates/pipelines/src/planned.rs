//! What a plan means for the record of its pipeline, and what is told of a file that makes none.

use crate::context::{self, NeededJob};
use crate::disk::FrozenPlan;
use branchyard_model::{ErrorKind, JobRecord, JobState, Problem, StepRecord};
use branchyard_workflow::{
    JobStatus, Planned, PlannedJob, StepAction, WorkflowFault, WorkflowOptions, WorkflowPlan,
    condition,
};
use branchyard_workspace::repos::Repo;

/// So many problems of a file are told; `branchyard pipeline check` tells all of them.
const MOST_TOLD: usize = 10;

/// What the operator says of workflows of this repo.
pub(crate) fn options(repo: &Repo) -> WorkflowOptions {
    let config = &repo.config().pipelines;
    WorkflowOptions {
        skip_actions: config.skip_actions.clone(),
        linux_labels: config.linux_labels.clone(),
    }
}

pub(crate) fn invalid(faults: &[WorkflowFault]) -> Problem {
    let told: Vec<_> = faults
        .iter()
        .take(MOST_TOLD)
        .map(ToString::to_string)
        .collect();
    let more = match faults.len().saturating_sub(MOST_TOLD) {
        0 => String::new(),
        more => format!("\nand {more} more"),
    };
    let code = faults
        .first()
        .map_or("workflow_invalid", |fault| fault.code.name());
    let detail = format!("{}{more}", told.join("\n"));
    Problem::new(ErrorKind::Unprocessable, code, detail)
        .field("file")
        .help("docs/PIPELINES.md says what a workflow file may have; `branchyard pipeline check FILE` tells all problems")
}

/// The records of all jobs of a plan: those that are known, and new ones of the others.
pub(crate) fn jobs_of(frozen: &FrozenPlan, known: &[JobRecord]) -> Vec<JobRecord> {
    let tests = frozen.bisect.as_ref().map(|bisect| &bisect.tests);
    let jobs = frozen.plan.jobs.iter().map(|planned| {
        let earlier = known.iter().find(|job| job.job == planned.id);
        earlier.cloned().unwrap_or_else(|| {
            let test = tests.and_then(|tests| tests.get(&planned.id));
            JobRecord {
                continue_on_error: test.is_some(),
                bisect: test.cloned(),
                ..job_record(planned)
            }
        })
    });
    jobs.collect()
}

/// A job that nothing has happened to.
pub(crate) fn job_record(job: &PlannedJob) -> JobRecord {
    let shown = |name: &Planned<String>| match name {
        Planned::Value(name) | Planned::Template(name) => context::shown(name),
    };
    let mut names: Vec<String> = Vec::new();
    for step in &job.steps {
        let around = step.within.and_then(|number| names.get(number - 1));
        names.push(context::shown_within(
            around.map(String::as_str),
            &shown(&step.name),
        ));
    }
    let steps = job.steps.iter().zip(names).map(|(step, name)| StepRecord {
        number: step.number,
        name,
        background: matches!(
            step.action,
            StepAction::Run {
                background: true,
                ..
            }
        ),
        ..StepRecord::default()
    });
    JobRecord {
        job: job.id.clone(),
        key: job.job.clone(),
        name: shown(&job.name),
        state: match job.skipped {
            Some(_) => JobState::Skipped,
            None => JobState::Blocked,
        },
        attempt: 1,
        needs: job.needs.clone(),
        reason: job.skipped.map(|_| "runs_on".to_owned()),
        steps: steps.collect(),
        ..JobRecord::default()
    }
}

/// How the configuration names a job: `ci/test` is `test` of ci.yml.
pub(crate) fn job_path(file: &str, job: &str) -> String {
    let file = file.rsplit('/').next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    format!("{stem}/{job}")
}

/// Whether the job's `if` holds.
pub(crate) fn is_wanted(
    plan: &WorkflowPlan,
    job: &PlannedJob,
    (needed, status): (&[NeededJob], JobStatus),
) -> Result<bool, Problem> {
    let context = context::of_plan(plan)
        .with("needs", context::needs(needed))
        .with_status(status)
        .eval();
    condition(job.condition.as_deref(), &context).map_err(|fault| {
        let detail = format!("{}: the `if` of the job {}: {fault}", plan.file, job.job);
        Problem::unprocessable("if", detail)
    })
}

/// Why a job is skipped whose `if` does not hold.
pub(crate) fn why_unwanted(job: &PlannedJob, status: JobStatus) -> &'static str {
    match job.condition.is_none() || status != JobStatus::Success {
        true => "needs",
        false => "when",
    }
}
