//! What others are to be told of a pipeline as it is now.

use serde_json::{Value, json};

use crate::message::MessageSubject;
use branchyard_config::Statuses;
use branchyard_forge::{CommitStatus, StatusState};
use branchyard_model::{JobRecord, JobState, PipelineRecord, PipelineSource, PipelineState};

/// The statuses of its commit; none of a workspace's files and of bisects.
pub(crate) fn statuses(
    record: &PipelineRecord,
    style: Statuses,
    page: Option<&str>,
) -> Vec<CommitStatus> {
    if style == Statuses::Off
        || record.source == PipelineSource::Workspace
        || record.bisect.is_some()
    {
        return Vec::new();
    }
    let context = context(record);
    let link = page.map(|page| link(page, MessageSubject::Pipeline(record.pipeline_id)));
    let status = |context, state, description| CommitStatus {
        context,
        state,
        description,
        target_url: link.clone(),
    };
    let whole = status(context.clone(), state_of(record.state), in_words(record));
    let jobs = record.jobs.iter().filter(|_| style == Statuses::Jobs);
    let jobs = jobs.filter_map(|job| {
        let (state, words) = job_in_words(job)?;
        Some(status(format!("{context}/{}", job.job), state, words))
    });
    std::iter::once(whole).chain(jobs).collect()
}

/// The body of a webhook about it.
pub(crate) fn body(record: &PipelineRecord, page: Option<&str>) -> Value {
    let jobs = record.jobs.iter();
    let jobs: Vec<_> = jobs
        .map(|job| json!({ "job": job.job, "state": job.state, "reason": job.reason }))
        .collect();
    json!({
        "type": format!("pipeline.{}", record.state.as_str()),
        "timestamp": record.ended_at.unwrap_or_else(|| record.attempt_began()),
        "data": {
            "pipeline_id": record.pipeline_id,
            "repo": record.repo,
            "branch": record.branch,
            "ref": record.git_ref,
            "commit": record.commit,
            "file": record.file,
            "event": record.event,
            "attempt": record.attempt,
            "state": record.state,
            "reason": record.reason,
            "jobs": jobs,
            "url": page.map(|page| link(page, MessageSubject::Pipeline(record.pipeline_id))),
        },
    })
}

/// What the forge calls it: pipelines of one file for different events do not hide each other, and neither do those of `ci.yml`
/// and `ci.yaml`.
fn context(record: &PipelineRecord) -> String {
    let file = record.file.rsplit('/').next().unwrap_or_default();
    let stem = file.strip_suffix(".yml").unwrap_or(file);
    match record.event.as_str() {
        "push" => format!("branchyard/{stem}"),
        event => format!("branchyard/{stem} ({event})"),
    }
}

/// Where people see it.
pub(crate) fn link(page: &str, subject: MessageSubject) -> String {
    let page = page.trim_end_matches('/');
    match subject {
        MessageSubject::Run(id) => format!("{page}/#/run/{id}"),
        MessageSubject::Pipeline(id) => format!("{page}/#/pipeline/{id}"),
    }
}

fn state_of(state: PipelineState) -> StatusState {
    match state {
        PipelineState::Queued => StatusState::Pending,
        PipelineState::Running => StatusState::Running,
        PipelineState::Succeeded => StatusState::Success,
        PipelineState::Failed => StatusState::Failure,
        PipelineState::Cancelled => StatusState::Cancelled,
        PipelineState::Rejected => StatusState::Error,
    }
}

fn in_words(record: &PipelineRecord) -> String {
    let reason = record.reason.as_deref();
    match record.state {
        PipelineState::Queued => "waiting".to_owned(),
        PipelineState::Running => "running".to_owned(),
        PipelineState::Succeeded => match record.jobs.len() {
            1 => "1 job".to_owned(),
            jobs => format!("{jobs} jobs"),
        },
        PipelineState::Rejected => {
            let error = record.error.as_ref();
            let detail = error.and_then(|problem| problem.detail.lines().next());
            detail.unwrap_or("its file cannot be run").to_owned()
        }
        PipelineState::Failed | PipelineState::Cancelled => {
            reason.unwrap_or(record.state.as_str()).to_owned()
        }
    }
}

/// None of a job that has not begun.
fn job_in_words(job: &JobRecord) -> Option<(StatusState, String)> {
    let state = match job.state {
        JobState::Blocked | JobState::Waiting | JobState::Queued => return None,
        JobState::Running => StatusState::Running,
        JobState::Succeeded | JobState::Reused | JobState::Skipped => StatusState::Success,
        JobState::Failed | JobState::TimedOut => StatusState::Failure,
        JobState::Cancelled => StatusState::Cancelled,
        JobState::Lost | JobState::Rejected => StatusState::Error,
    };
    let words = match (&job.reason, job.state) {
        (Some(reason), JobState::Skipped) => format!("skipped: {reason}"),
        (Some(reason), _) => reason.clone(),
        (None, state) => state.as_str().replace('_', " "),
    };
    Some((state, words))
}
