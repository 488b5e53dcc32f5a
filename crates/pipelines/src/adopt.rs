//! What an earlier daemon left: pipelines that have not ended go on where they are. Their scratch worktrees and slots are
//! taken again before anyone is served; their runs were adopted before.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;

use crate::concurrency::{GroupEntry, job_in_words};
use crate::disk::Attempt;
use crate::drive::HeldJobs;
use crate::held;
use crate::job::HeldJob;
use crate::job_end::JobEnd;
use crate::live::{LiveParts, LivePipeline, StopHandle};
use crate::pipelines::Pipelines;
use crate::planned::jobs_of;
use branchyard_journal::{Writer, last_event};
use branchyard_model::{Event, JobState, PipelineRecord, PipelineState};
use branchyard_runs::{idempotency, step, stop_note};

pub(crate) fn adopt(pipelines: &Pipelines, is_copy: bool) {
    let mut unended = Vec::new();
    for id in pipelines.inner().disk.ids() {
        let mut record = match pipelines.inner().disk.load(id) {
            Ok(Some(record)) => record,
            Ok(None) => {
                // Its daemon was killed before it was one.
                if let Err(error) = pipelines.inner().disk.remove(id) {
                    tracing::warn!(pipeline = %id, %error, "what was to be a pipeline stays");
                }
                continue;
            }
            Err(error) => {
                tracing::error!(pipeline = %id, %error, "the record of a pipeline cannot be read");
                continue;
            }
        };
        if let Some(key) = record.idempotency.clone() {
            let runs = &pipelines.inner().runs;
            idempotency::remember_pipeline(runs, &record.principal, key, id);
        }
        pipelines.note(&record);
        held::adopt(pipelines, &mut record);
        if !record.state.is_ended() {
            unended.push(record);
        }
    }
    // Those that had begun come first where they meet in a concurrency group.
    unended.sort_by_key(|record| (record.state == PipelineState::Queued, record.pipeline_id));
    let mut ready = Vec::new();
    for record in unended {
        let id = record.pipeline_id;
        let done = if is_copy {
            // The original tells how it goes on there.
            let why = "this yard is a copy, and the pipeline was under way in the original";
            give_up(pipelines, record, why, false)
        } else if pipelines.inner().repos.get(&record.repo).is_err() {
            let why = "its repository is not configured any more";
            give_up(pipelines, record, why, true)
        } else {
            open(pipelines, record).map(|opened| ready.push(opened))
        };
        if let Err(error) = done {
            tracing::error!(pipeline = %id, %error, "failed to go on with a pipeline");
        }
    }
    // All that was held is taken by now: no new job may come before the one that held it.
    for (live, held) in ready {
        pipelines.go_on(live, held);
    }
}

/// Ends a pipeline with which this daemon does not go on. Others are told, if it `is_told`.
fn give_up(
    pipelines: &Pipelines,
    mut record: PipelineRecord,
    why: &str,
    is_told: bool,
) -> io::Result<()> {
    record.state = PipelineState::Cancelled;
    record.ended_at = Some(Timestamp::now());
    record.reason = Some(why.to_owned());
    for job in record.jobs.iter_mut().filter(|job| !job.state.is_ended()) {
        job.state = JobState::Cancelled;
    }
    let (disk, outbox) = (&pipelines.inner().disk, &pipelines.inner().outbox);
    if is_told {
        outbox.note(&record)?;
    }
    disk.save(&record)?;
    pipelines.note(&record);
    outbox.release(record.pipeline_id);
    Ok(())
}

fn open(
    pipelines: &Pipelines,
    mut record: PipelineRecord,
) -> io::Result<(Arc<LivePipeline>, HeldJobs)> {
    let (id, inner) = (record.pipeline_id, pipelines.inner());
    tracing::info!(pipeline = %id, "going on with a pipeline");
    // Its daemon may have been killed before others were told.
    inner.outbox.note(&record)?;
    let plan = inner.disk.plan(id)?;
    let plan = plan.ok_or_else(|| io::Error::other("its plan is gone"))?;
    // Its daemon may have been killed when it had another plan and not yet the jobs of it.
    record.jobs = jobs_of(&plan, &record.jobs);
    let mut journal = Writer::reopen(&inner.disk.journal(id))?;
    if is_told(&inner.disk.journal(id), &record)? {
        // It is only not on record yet.
        journal.0.close();
    }
    let repo = inner.repos.get(&record.repo).map_err(io::Error::other)?;
    let held = held_jobs(pipelines, &record);
    let parts = LiveParts {
        disk: inner.disk.clone(),
        margin: inner.margin.clone(),
        outbox: inner.outbox.clone(),
        news: repo.news().clone(),
        viewers: pipelines.viewers(),
        plan,
        journal,
        leaving: inner.leaving.clone(),
    };
    let live = Arc::new(LivePipeline::new(record, parts));
    if let Some(reason) = stop_note::read(&inner.disk.home(id)) {
        live.viewers().stop(&reason);
    }
    show_steps(&live, &held);
    Ok((live, held))
}

/// Whether the end of the pipeline, in this attempt at it, is in its journal.
fn is_told(journal: &Path, record: &PipelineRecord) -> io::Result<bool> {
    Ok(match last_event(journal)? {
        Some(Event::Pipeline(told)) => told.state.is_ended() && told.attempt == record.attempt,
        _ => false,
    })
}

/// The attempts that were begun, with what they held.
fn held_jobs(pipelines: &Pipelines, record: &PipelineRecord) -> HeldJobs {
    let inner = pipelines.inner();
    let mut held = BTreeMap::new();
    let Ok(repo) = inner.repos.get(&record.repo) else {
        return held;
    };
    let unended = record.jobs.iter().enumerate();
    for (nth, job) in unended.filter(|(_, job)| !job.state.is_ended()) {
        let attempt = match inner
            .disk
            .attempt(record.pipeline_id, &job.job, job.attempt)
        {
            Ok(Some(attempt)) => attempt,
            Ok(None) => continue,
            Err(error) => {
                tracing::error!(pipeline = %record.pipeline_id, job = job.job, %error, "how a job went cannot be read");
                // Which of its steps were started is not known, so none is started again.
                let reason = "how it went cannot be read".to_owned();
                Attempt {
                    end: Some(JobEnd::of(JobState::Lost, Some(reason))),
                    ..Attempt::default()
                }
            }
        };
        // One that has ended needs nothing any more, but for one that is to be held.
        let is_needed = attempt.end.is_none() || attempt.held_until.is_some();
        let number = attempt.scratch.filter(|_| is_needed);
        let scratch = inner.workspaces.scratch();
        let lease = number.and_then(|number| scratch.adopt(&repo, number));
        let slot = step::occupy_job_slot(&inner.runs, &record.principal, &repo);
        let stop = StopHandle::default();
        let group = attempt.group.clone().filter(|_| attempt.end.is_none());
        let place = group.map(|group| {
            let entry = GroupEntry {
                repo: record.repo.clone(),
                group,
                cancels: false,
                is_single: false,
                who: job_in_words(&job.job, record.pipeline_id),
                age: (record.pipeline_id, nth),
            };
            inner.groups.enter(entry, stop.clone()).0
        });
        let job_id = job.job.clone();
        held.insert(
            job_id,
            HeldJob {
                attempt,
                lease,
                slot,
                place,
                stop,
            },
        );
    }
    held
}

/// The attempts know more than the record.
fn show_steps(live: &LivePipeline, held: &HeldJobs) {
    for (job, held) in held {
        let attempt = &held.attempt;
        let steps = attempt.steps.iter().map(|step| step.record.clone());
        let steps: Vec<_> = steps.collect();
        live.change_job(job, |record| {
            record.steps = steps;
            if let Some(name) = &attempt.name {
                record.name.clone_from(name);
                record.continue_on_error = attempt.continue_on_error;
            }
        });
    }
}
