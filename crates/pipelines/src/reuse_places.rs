//! Which jobs may answer for others, by what they saw.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;

use branchyard_model::{BranchName, JobState, PipelineId, PipelineRecord, RepoName};

/// How old an answer may be.
const ANSWERS_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);

/// By the digests of what they saw.
#[derive(Debug, Default)]
pub(crate) struct ReusePlaces(Mutex<HashMap<String, Vec<ReusePlace>>>);

/// A job that may answer.
#[derive(Debug, Clone)]
struct ReusePlace {
    pipeline: PipelineId,
    job: String,
    repo: RepoName,
    branch: BranchName,
    is_protected: bool,
    ended_at: Timestamp,
}

/// Who may answer whom.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReuseTrust {
    /// The commit is what the remote has on a protected branch.
    pub(crate) is_protected: bool,
    /// Who asked may see all branches.
    pub(crate) sees_all: bool,
}

impl ReusePlaces {
    /// Has the jobs of a pipeline that succeeded answer for others.
    pub(crate) fn note(&self, record: &PipelineRecord) {
        let mut places = self.0.lock();
        let jobs = record.jobs.iter();
        for job in jobs.filter(|job| job.state == JobState::Succeeded) {
            let (Some(reusable), Some(ended_at)) = (&job.reusable, job.ended_at) else {
                continue;
            };
            let known = places.entry(reusable.key.clone()).or_default();
            known.retain(|place| place.pipeline != record.pipeline_id || place.job != job.job);
            known.push(ReusePlace {
                pipeline: record.pipeline_id,
                job: job.job.clone(),
                repo: record.repo.clone(),
                branch: record.branch.clone(),
                is_protected: reusable.is_protected,
                ended_at,
            });
        }
    }

    pub(crate) fn forget(&self, pipeline: PipelineId) {
        self.0.lock().retain(|_, known| {
            known.retain(|place| place.pipeline != pipeline);
            !known.is_empty()
        });
    }

    /// The jobs with this key that may answer for a job of the pipeline, the newest first.
    pub(crate) fn candidates(
        &self,
        key: &str,
        (record, job): (&PipelineRecord, &str),
        trust: ReuseTrust,
    ) -> Vec<(PipelineId, String)> {
        let horizon = Timestamp::now().checked_sub(ANSWERS_FOR);
        let horizon = horizon.unwrap_or(Timestamp::MIN);
        let mut places = self.0.lock().get(key).cloned().unwrap_or_default();
        places.retain(|place| {
            let is_trusted = place.is_protected || !trust.is_protected;
            let is_seen = trust.sees_all || place.branch == record.branch;
            let is_other = place.pipeline != record.pipeline_id || place.job != job;
            let is_fresh = place.ended_at >= horizon;
            place.repo == record.repo && is_trusted && is_seen && is_other && is_fresh
        });
        places.sort_by_key(|place| std::cmp::Reverse(place.ended_at));
        let places = places.into_iter();
        places.map(|place| (place.pipeline, place.job)).collect()
    }
}
