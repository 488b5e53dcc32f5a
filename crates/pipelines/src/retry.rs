//! Retrying a pipeline: the jobs that failed, and those that needed them, have another attempt. What succeeded stays.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::live::{LiveParts, LivePipeline};
use crate::pipelines::{Pipelines, job_not_found};
use crate::planned::job_record;
use branchyard_journal::Writer;
use branchyard_model::{BisectTest, ErrorKind, PipelineId, PipelineRecord, PipelineState, Problem};
use branchyard_workflow::WorkflowPlan;

/// The body of a request for a retry.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetryRequest {
    /// The jobs, by their ids; all that failed if left out.
    pub jobs: Vec<String>,
}

impl Pipelines {
    /// Has the failed jobs of a pipeline that has ended, or those that are named, attempted again.
    pub fn retry(&self, id: PipelineId, request: &RetryRequest) -> Result<PipelineRecord, Problem> {
        self.check_draining()?;
        // Of two at once, the second finds the pipeline live.
        let _one_at_a_time = self.inner().retrying.lock();
        if self.live(id).is_some() {
            return Err(not_ended());
        }
        self.inner().margin.check()?;
        let unreadable = |error: std::io::Error| {
            let detail = format!("the pipeline cannot be read: {error}");
            Problem::new(ErrorKind::Internal, "pipeline_unreadable", detail)
        };
        let disk = &self.inner().disk;
        let mut record = disk
            .load(id)
            .map_err(unreadable)?
            .ok_or_else(|| crate::pipeline_not_found(id))?;
        let plan = disk.plan(id).map_err(unreadable)?;
        let plan = plan.ok_or_else(|| never_planned(&record))?;
        let repo = self.inner().repos.get(&record.repo)?;
        let again = chosen(&record, &plan.plan, request)?;
        for job in &mut record.jobs {
            let planned = plan.plan.jobs.iter().find(|it| it.id == job.job);
            if let Some(planned) = planned.filter(|_| again.contains(&job.job)) {
                self.inner().held.let_go((id, &job.job));
                let earlier = std::mem::replace(job, job_record(planned));
                job.attempt = earlier.attempt + 1;
                job.bisect = earlier.bisect.map(BisectTest::again);
                job.continue_on_error = job.bisect.is_some();
            }
        }
        record.attempt += 1;
        if let Some(bisect) = &mut record.bisect {
            bisect.answer = None;
        }
        record.state = PipelineState::Queued;
        (record.reason, record.error) = (None, None);
        (record.ended_at, record.duration_ms) = (None, None);
        record.retried_at = Some(Timestamp::now());
        let journal = Writer::reopen(&disk.journal(id)).map_err(unreadable)?;
        let saved = self.inner().margin.spend(|| {
            disk.forget_stop(id)?;
            disk.save(&record)?;
            self.inner().outbox.note(&record)
        });
        saved.map_err(|error| {
            let detail = "the retry could not be recorded";
            let problem = Problem::unwritten("pipeline_not_recorded", detail, &error);
            self.inner().margin.judge(problem)
        })?;
        self.note(&record);
        let parts = LiveParts {
            disk: disk.clone(),
            margin: self.inner().margin.clone(),
            outbox: self.inner().outbox.clone(),
            news: repo.news().clone(),
            viewers: self.viewers(),
            plan,
            journal,
            leaving: self.inner().leaving.clone(),
        };
        let live = Arc::new(LivePipeline::new(record, parts));
        live.tell_again();
        self.go_on(live.clone(), Default::default());
        Ok(live.record().shown())
    }
}

/// Why there is nothing to retry: what is wrong is in the file, or in the configuration.
fn never_planned(record: &PipelineRecord) -> Problem {
    let detail = "the pipeline was rejected before it had jobs";
    let why = record.error.as_ref().map(|problem| problem.detail.clone());
    Problem::new(ErrorKind::Conflict, "nothing_to_retry", detail)
        .help(why.unwrap_or_else(|| "start a new one".to_owned()))
}

/// The jobs that are attempted again: those that are named, or all that failed, and all that need one of them.
fn chosen(
    record: &PipelineRecord,
    plan: &WorkflowPlan,
    request: &RetryRequest,
) -> Result<BTreeSet<String>, Problem> {
    let mut again = BTreeSet::new();
    for named in &request.jobs {
        let found = record.jobs.iter().find(|job| job.job == *named);
        let job = found.ok_or_else(|| job_not_found(record.pipeline_id, named))?;
        again.insert(job.job.clone());
    }
    if request.jobs.is_empty() {
        let failed = record.jobs.iter().filter(|job| job.is_to_be_retried());
        again.extend(failed.map(|job| job.job.clone()));
    }
    if again.is_empty() {
        let detail = "no job of the pipeline has failed";
        return Err(
            Problem::new(ErrorKind::Conflict, "nothing_to_retry", detail)
                .field("jobs")
                .help("name the jobs that are to run again"),
        );
    }
    loop {
        let keys: BTreeSet<&str> = plan
            .jobs
            .iter()
            .filter(|job| again.contains(&job.id))
            .map(|job| job.job.as_str())
            .collect();
        let is_dependent = |job: &&branchyard_workflow::PlannedJob| {
            !again.contains(&job.id) && job.needs.iter().any(|need| keys.contains(need.as_str()))
        };
        let more: Vec<_> = plan
            .jobs
            .iter()
            .filter(is_dependent)
            .map(|job| job.id.clone())
            .collect();
        if more.is_empty() {
            break;
        }
        again.extend(more);
    }
    // What asks for another system is not run, however often.
    again.retain(|id| {
        let job = plan.jobs.iter().find(|job| job.id == *id);
        job.is_some_and(|job| job.skipped.is_none())
    });
    Ok(again)
}

fn not_ended() -> Problem {
    let detail = "the pipeline has not ended";
    Problem::new(ErrorKind::Conflict, "not_ended", detail)
        .help("wait for its end, or cancel it first")
}
