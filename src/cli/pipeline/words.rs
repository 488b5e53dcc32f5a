//! Pipelines and jobs in words, and the exit code for how one ended.

use jiff::Timestamp;

use crate::cli::exit;
use crate::cli::render::{Tone, human_duration, short_commit};
use branchyard_model::{
    EndState, JobRecord, JobState, PipelineRecord, PipelineState, StepRecord, StepState,
};

/// `pipeline 0197…: ci.yml of app, main at 1a2b3c4d (push)`
pub(super) fn title(record: &PipelineRecord) -> String {
    let (id, repo, branch, event) = (
        record.pipeline_id,
        &record.repo,
        &record.branch,
        &record.event,
    );
    let commit = short_commit(record.commit.as_str());
    let file = record.file.rsplit('/').next().unwrap_or_default();
    let attempt = match record.attempt {
        1 => String::new(),
        attempt => format!(", attempt {attempt}"),
    };
    format!("pipeline {id}: {file} of {repo}, {branch} at {commit} ({event}{attempt})")
}

/// `failed in 1.2s: 1 of 3 jobs did not succeed`
pub(super) fn verdict(record: &PipelineRecord) -> String {
    let mut text = record.state.as_str().to_owned();
    if let Some(took) = record.duration_ms {
        text.push_str(&format!(" in {}", human_duration(took)));
    }
    let (failed, all) = (failures(record).count(), record.jobs.len());
    match (&record.error, &record.reason) {
        (Some(error), _) => text.push_str(&format!(": {}", error.detail)),
        (None, _) if record.state == PipelineState::Failed && failed > 0 => {
            text.push_str(&format!(": {failed} of {all} jobs did not succeed"));
        }
        (None, Some(reason)) => text.push_str(&format!(": {reason}")),
        (None, None) => {}
    }
    text
}

/// Jobs that keep the pipeline from succeeding.
pub(super) fn failures(record: &PipelineRecord) -> impl Iterator<Item = &JobRecord> {
    let jobs = record.jobs.iter();
    jobs.filter(|job| job.state.is_failure() && !job.continue_on_error)
}

/// `build: failed in 1.2s: step 2 (make test) exited with 2`
pub(super) fn sentence(job: &JobRecord) -> String {
    let mut text = format!("{}: {}", job.name, job.state.as_str());
    if let Some(took) = took(job) {
        text.push_str(&format!(" in {}", human_duration(took)));
    }
    if let Some(why) = because(job) {
        text.push_str(&format!(": {why}"));
    }
    text
}

/// Why a job is in its state, where that does not say all.
pub(super) fn because(job: &JobRecord) -> Option<String> {
    if let Some(earlier) = &job.answered_by {
        let commit = short_commit(earlier.commit.as_str());
        let (job, pipeline) = (&earlier.job, earlier.pipeline);
        return Some(format!("by {job} of {pipeline}, built at {commit}"));
    }
    if let Some(error) = &job.error {
        return Some(error.detail.clone());
    }
    Some(match (job.state, job.reason.as_deref()?) {
        (JobState::Skipped, "needs") => "a job that it needs did not succeed".to_owned(),
        (JobState::Skipped, "when") => "its `if` does not hold".to_owned(),
        (JobState::Skipped, "runs_on") => "it runs on another system than Linux".to_owned(),
        (_, reason) => reason.to_owned(),
    })
}

/// The step that a job is at: the last that began beside those in the background.
pub(super) fn current_step(job: &JobRecord) -> Option<&StepRecord> {
    let running = |step: &&StepRecord| step.state == StepState::Running;
    let mut steps = job.steps.iter().filter(running);
    steps.clone().find(|step| !step.background).or(steps.next())
}

/// `step 2/5: make test`
pub(super) fn step_of(job: &JobRecord, step: &StepRecord) -> String {
    format!("step {}/{}: {}", step.number, job.steps.len(), step.name)
}

/// Milliseconds from its start to its end, or until now.
pub(super) fn took(job: &JobRecord) -> Option<u64> {
    let ended = job.ended_at.unwrap_or_else(Timestamp::now);
    let passed = ended.duration_since(job.started_at?);
    u64::try_from(passed.as_millis()).ok()
}

/// What stands before a job in a list that people read.
pub(super) fn mark(state: JobState) -> &'static str {
    match tone_of_job(state) {
        Tone::Good => "✓",
        Tone::Bad => "✗",
        Tone::Faint => "-",
        Tone::Plain | Tone::Warn => "·",
    }
}

pub(super) fn tone_of_job(state: JobState) -> Tone {
    match state {
        JobState::Succeeded | JobState::Reused => Tone::Good,
        JobState::Blocked | JobState::Waiting | JobState::Queued | JobState::Running => Tone::Warn,
        JobState::Skipped | JobState::Cancelled => Tone::Faint,
        JobState::Failed | JobState::TimedOut | JobState::Lost | JobState::Rejected => Tone::Bad,
    }
}

pub(super) fn tone_of_step(state: StepState) -> Tone {
    match state {
        StepState::Succeeded => Tone::Good,
        StepState::Pending | StepState::Running => Tone::Warn,
        StepState::Skipped | StepState::Cancelled => Tone::Faint,
        StepState::Failed | StepState::TimedOut | StepState::Lost | StepState::Rejected => {
            Tone::Bad
        }
    }
}

/// 0 only where it succeeded; else what the first failure says, as for a run.
pub(super) fn exit_code(record: &PipelineRecord) -> u8 {
    let of = |state| exit::of_run(state, None, None);
    match record.state {
        PipelineState::Succeeded => exit::OK,
        PipelineState::Cancelled => of(EndState::Cancelled),
        PipelineState::Rejected | PipelineState::Queued | PipelineState::Running => {
            of(EndState::Rejected)
        }
        PipelineState::Failed => {
            let failed = failures(record).find(|job| job.state == JobState::Failed);
            let Some(job) = failed.or_else(|| failures(record).next()) else {
                return of(EndState::Failed);
            };
            match job.state {
                JobState::TimedOut => of(EndState::TimedOut),
                JobState::Lost | JobState::Rejected => of(EndState::Lost),
                _ => exit::of_run(EndState::Failed, exit_code_of_step(job), None),
            }
        }
    }
}

fn exit_code_of_step(job: &JobRecord) -> Option<i32> {
    let mut steps = job.steps.iter();
    let failed = steps.find(|step| step.state == StepState::Failed && !step.continue_on_error);
    failed?.exit_code
}

/// Where to look into what failed jobs left on disk.
pub(super) fn held(record: &PipelineRecord) -> impl Iterator<Item = String> {
    let id = record.pipeline_id;
    let held = record.jobs.iter().filter(|job| job.held_until.is_some());
    held.map(move |JobRecord { job, .. }| {
        format!("what {job} left on disk: `branchyard pipeline ls {id} {job}`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn record(state: &str, jobs: &serde_json::Value) -> PipelineRecord {
        serde_json::from_value(json!({
            "pipeline_id": "0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b", "repo": "app", "branch": "main",
            "commit": "1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b", "tree": "1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b",
            "file": ".branchyard/workflows/ci.yml", "event": "push", "principal": "session", "state": state,
            "attempt": 2, "jobs": jobs, "created_at": "2024-05-06T07:08:09Z", "duration_ms": 1234,
        }))
        .unwrap()
    }

    fn job(state: &str, more: serde_json::Value) -> serde_json::Value {
        let mut job = json!({ "job": "a", "name": "a", "state": state, "attempt": 1, "steps": [] });
        let serde_json::Value::Object(fields) = more else {
            panic!("{more}");
        };
        job.as_object_mut().unwrap().extend(fields);
        job
    }

    #[test]
    fn a_pipeline_ends_us_with_0_only_where_it_succeeded() {
        let failed = job(
            "failed",
            json!({ "steps": [
                { "number": 1, "name": "x", "state": "failed", "exit_code": 9, "continue_on_error": true },
                { "number": 2, "name": "y", "state": "failed", "exit_code": 3 },
            ] }),
        );
        let well = job("succeeded", json!({}));
        let allowed = job("failed", json!({ "continue_on_error": true }));
        for (state, jobs, code) in [
            ("succeeded", vec![&well, &allowed], 0),
            ("failed", vec![&allowed, &failed], 3),
            ("failed", vec![&job("timed_out", json!({})), &failed], 3),
            ("failed", vec![&job("timed_out", json!({}))], 124),
            ("failed", vec![&job("lost", json!({}))], 125),
            ("failed", vec![&job("failed", json!({}))], 1),
            ("failed", vec![&well], 1),
            ("cancelled", vec![&failed], 130),
            ("rejected", vec![], 125),
            ("running", vec![], 125),
        ] {
            let record = record(state, &json!(jobs));
            assert_eq!(exit_code(&record), code, "{state} {jobs:?}");
        }
    }

    #[test]
    fn pipelines_and_jobs_are_sentences() {
        let failed = job(
            "failed",
            json!({ "reason": "step 1 exited with 2", "started_at": "2024-05-06T07:08:09Z",
                "ended_at": "2024-05-06T07:08:10.5Z" }),
        );
        let record = record(
            "failed",
            &json!([failed, job("skipped", json!({ "reason": "needs" }))]),
        );
        assert_eq!(
            title(&record),
            "pipeline 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b: ci.yml of app, main at 1a2b3c4d (push, attempt 2)"
        );
        assert_eq!(
            verdict(&record),
            "failed in 1.2s: 1 of 2 jobs did not succeed"
        );
        assert_eq!(
            sentence(&record.jobs[0]),
            "a: failed in 1.5s: step 1 exited with 2"
        );
        assert_eq!(
            sentence(&record.jobs[1]),
            "a: skipped: a job that it needs did not succeed"
        );
    }
}
