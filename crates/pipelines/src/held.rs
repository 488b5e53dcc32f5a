//! Held worktrees: the scratch worktrees of failed jobs that are kept for a while, to be looked into. They are beside the
//! pool, so that no job waits for one; beyond `pipelines.max_held` the oldest goes.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::job::JobEnd;
use crate::pipelines::{Pipelines, job_not_found};
use branchyard_model::{
    CommitId, ErrorKind, JobRecord, JobState, PipelineId, PipelineRecord, Problem,
};
use branchyard_workflow::PlannedJob;
use branchyard_workspace::{HeldScratch, ScratchLease};

/// One that is held.
#[derive(Debug)]
pub(crate) struct HeldWorktree {
    pub(crate) pipeline: PipelineId,
    job: String,
    worktree: Arc<HeldScratch>,
}

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

impl Pipelines {
    /// Keeps the worktree of a job beside the pool until then.
    pub(crate) fn hold(
        &self,
        (pipeline, job): (PipelineId, &str),
        lease: ScratchLease,
        until: Timestamp,
    ) {
        self.keep_held((pipeline, job), lease.hold(), until);
    }

    /// Holds again what an earlier daemon held.
    pub(crate) fn adopt_held(&self, record: &mut PipelineRecord) {
        let Ok(repo) = self.inner().repos.get(&record.repo) else {
            return;
        };
        let (id, now) = (record.pipeline_id, Timestamp::now());
        let mut is_changed = false;
        for job in record.jobs.iter_mut().filter(|job| job.state.is_ended()) {
            let (Some(until), Some(number)) = (job.held_until, job.scratch) else {
                continue;
            };
            let scratch = self.inner().workspaces.scratch();
            match scratch.adopt_held(&repo, number).filter(|_| until > now) {
                Some(worktree) => self.keep_held((id, &job.job), worktree, until),
                None => {
                    is_changed = true;
                    show_released(job);
                }
            }
        }
        if is_changed && let Err(error) = self.inner().disk.save(record) {
            tracing::error!(pipeline = %id, %error, "a worktree is on record as held, and is not any more");
        }
    }

    fn keep_held(
        &self,
        (pipeline, job): (PipelineId, &str),
        worktree: HeldScratch,
        until: Timestamp,
    ) {
        let held = HeldWorktree {
            pipeline,
            job: job.to_owned(),
            worktree: Arc::new(worktree),
        };
        let beyond: Vec<_> = {
            let mut all = self.inner().held.lock();
            all.push(held);
            let beyond = all
                .len()
                .saturating_sub(self.inner().config.pipelines.max_held);
            all.drain(..beyond).collect()
        };
        for gone in beyond {
            self.show_released((gone.pipeline, &gone.job));
        }
        let (this, job) = (self.clone(), job.to_owned());
        let wait = until.duration_since(Timestamp::now());
        let wait = Duration::try_from(wait).unwrap_or_default();
        let release = async move {
            tokio::time::sleep(wait).await;
            this.release((pipeline, &job));
        };
        let leaving = self.inner().leaving.clone();
        let release = leaving.run_until_cancelled_owned(release);
        self.inner().tasks.spawn(release);
    }

    /// Gives a held worktree back, if it is still held.
    fn release(&self, place: (PipelineId, &str)) {
        if self.let_go(place) {
            self.show_released(place);
        }
    }

    /// Gives a held worktree back without a word of it on record: what is on record goes, or is another attempt's.
    pub(crate) fn let_go(&self, (pipeline, job): (PipelineId, &str)) -> bool {
        let mut all = self.inner().held.lock();
        let before = all.len();
        all.retain(|held| held.pipeline != pipeline || held.job != job);
        all.len() < before
    }

    fn show_released(&self, (pipeline, job): (PipelineId, &str)) {
        if let Some(live) = self.live(pipeline) {
            return live.change_job(job, show_released);
        }
        // A retry that begins now would be undone.
        let _no_retry = self.inner().retrying.lock();
        let disk = &self.inner().disk;
        let shown = disk.load(pipeline).and_then(|record| {
            let Some(mut record) = record.filter(|_| self.live(pipeline).is_none()) else {
                return Ok(());
            };
            record
                .jobs
                .iter_mut()
                .filter(|it| it.job == job)
                .for_each(show_released);
            disk.save(&record)
        });
        if let Err(error) = shown {
            tracing::error!(%pipeline, job, %error, "a worktree is on record as held, and is not any more");
        }
    }

    /// The worktree of a failed job, as it was left, and the commit that it was at.
    pub fn held(&self, id: PipelineId, job: &str) -> Result<(CommitId, Arc<HeldScratch>), Problem> {
        let record = self.record(id)?;
        if !record.jobs.iter().any(|other| other.job == job) {
            return Err(job_not_found(id, job));
        }
        let all = self.inner().held.lock();
        let held = all
            .iter()
            .find(|held| held.pipeline == id && held.job == job);
        let held = held.ok_or_else(|| {
            let detail = format!("the worktree of the job {job} is not held");
            Problem::new(ErrorKind::Conflict, "not_held", detail)
                .field("job")
                .help("`hold: 30m` in the job keeps its worktree for so long after a failure")
        })?;
        Ok((record.commit, held.worktree.clone()))
    }
}

fn show_released(job: &mut JobRecord) {
    (job.held_until, job.scratch) = (None, None);
}
