//! Held worktrees: the scratch worktrees of failed jobs that are kept for a while, to be looked into. They are beside the
//! pool, so that no job waits for one; beyond `pipelines.max_held` the oldest goes.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::job_end::JobEnd;
use crate::pipelines::{Pipelines, job_not_found};
use branchyard_model::{
    CommitId, ErrorKind, JobRecord, JobState, PipelineId, PipelineRecord, Problem,
};
use branchyard_runtime::yard_events::{PipelineEvent, YardChange};
use branchyard_workflow::PlannedJob;
use branchyard_workspace::{HeldScratch, ScratchLease};

/// Until when the worktree of a job that ended like this is held.
pub(crate) fn until(job: &PlannedJob, end: &JobEnd) -> Option<Timestamp> {
    let is_failure = matches!(
        end.state,
        JobState::Failed | JobState::TimedOut | JobState::Lost
    );
    let seconds = job.extras.hold_seconds.filter(|_| is_failure)?;
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    let until = Timestamp::now().checked_add(SignedDuration::from_secs(seconds));
    Some(until.unwrap_or(Timestamp::MAX))
}

/// Keeps the worktree of a job beside the pool until then.
pub(crate) fn hold(
    pipelines: &Pipelines,
    place: (PipelineId, &str),
    lease: ScratchLease,
    until: Timestamp,
) {
    keep(pipelines, place, lease.hold(), until);
}

/// Holds again what an earlier daemon held.
pub(crate) fn adopt(pipelines: &Pipelines, record: &mut PipelineRecord) {
    let inner = pipelines.inner();
    let Ok(repo) = inner.repos.get(&record.repo) else {
        return;
    };
    let (id, now) = (record.pipeline_id, Timestamp::now());
    let mut is_changed = false;
    for job in record.jobs.iter_mut().filter(|job| job.state.is_ended()) {
        let (Some(until), Some(number)) = (job.held_until, job.scratch) else {
            continue;
        };
        let scratch = inner.workspaces.scratch();
        match scratch.adopt_held(&repo, number).filter(|_| until > now) {
            Some(worktree) => keep(pipelines, (id, &job.job), worktree, until),
            None => {
                is_changed = true;
                released(job);
            }
        }
    }
    if is_changed && let Err(error) = inner.disk.save(record) {
        tracing::error!(pipeline = %id, %error, "a worktree is on record as held, and is not any more");
    }
}

fn keep(
    pipelines: &Pipelines,
    (pipeline, job): (PipelineId, &str),
    worktree: HeldScratch,
    until: Timestamp,
) {
    let inner = pipelines.inner();
    let most = inner.config.pipelines.max_held;
    for (pipeline, job) in inner.held.keep((pipeline, job), worktree, most) {
        show_released(pipelines, (pipeline, &job));
    }
    let (this, job) = (pipelines.clone(), job.to_owned());
    let wait = until.duration_since(Timestamp::now());
    let wait = Duration::try_from(wait).unwrap_or_default();
    let release = async move {
        tokio::time::sleep(wait).await;
        if this.inner().held.let_go((pipeline, &job)) {
            show_released(&this, (pipeline, &job));
        }
    };
    let leaving = inner.leaving.clone();
    inner
        .tasks
        .spawn(leaving.run_until_cancelled_owned(release));
}

fn show_released(pipelines: &Pipelines, (pipeline, job): (PipelineId, &str)) {
    if let Some(live) = pipelines.live(pipeline) {
        return live.change_job(job, released);
    }
    // A retry that begins now would be undone.
    let _no_retry = pipelines.inner().retrying.lock();
    let inner = pipelines.inner();
    let shown = inner.disk.load(pipeline).and_then(|record| {
        let Some(mut record) = record.filter(|_| pipelines.live(pipeline).is_none()) else {
            return Ok(());
        };
        let jobs = record.jobs.iter_mut();
        jobs.filter(|it| it.job == job).for_each(released);
        inner.disk.save(&record)?;
        if let Ok(repo) = inner.repos.get(&record.repo) {
            let event = PipelineEvent::of(&record);
            repo.news().publish(YardChange::Pipeline(Box::new(event)));
        }
        Ok(())
    });
    if let Err(error) = shown {
        tracing::error!(%pipeline, job, %error, "a worktree is on record as held, and is not any more");
    }
}

fn released(job: &mut JobRecord) {
    (job.held_until, job.scratch) = (None, None);
}

/// The worktree of a failed job, as it was left, and the commit that it was at.
pub fn held_worktree(
    pipelines: &Pipelines,
    id: PipelineId,
    job: &str,
) -> Result<(CommitId, Arc<HeldScratch>), Problem> {
    let record = pipelines.record(id)?;
    if !record.jobs.iter().any(|other| other.job == job) {
        return Err(job_not_found(id, job));
    }
    let held = pipelines.inner().held.find((id, job)).ok_or_else(|| {
        let detail = format!("the worktree of the job {job} is not held");
        Problem::new(ErrorKind::Conflict, "not_held", detail)
            .field("job")
            .help("`hold: 30m` in the job keeps its worktree for so long after a failure")
    })?;
    let commit = held.commit().unwrap_or(record.commit);
    Ok((commit, held))
}
