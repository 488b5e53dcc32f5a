//! Finding pipelines again: what is known of each of them without a look at the disk, so that a list reads only the records
//! that it shows.

use branchyard_model::{
    BranchName, CommitId, JobRecord, PipelineId, PipelineRecord, PipelineState, RepoName,
};

#[derive(Debug, Clone)]
pub(crate) struct PipelineEntry {
    pub(crate) repo: RepoName,
    pub(crate) branch: BranchName,
    pub(crate) commit: CommitId,
    pub(crate) file: String,
    pub(crate) trigger: Option<String>,
    /// As it was last noted: of one that is live, that may be another by now.
    pub(crate) state: PipelineState,
    /// Its jobs whose attempts may have tests, and the latest of these.
    pub(crate) tested: Vec<(String, u32)>,
}

/// Which pipelines of a repo are wanted.
#[derive(Debug, Clone, Default)]
pub struct PipelineFilter {
    pub branch: Option<BranchName>,
    pub commit: Option<CommitId>,
    pub state: Option<PipelineState>,
    /// The path of the workflow file, or its name alone.
    pub file: Option<String>,
    /// Only those that were asked for before this one.
    pub before: Option<PipelineId>,
}

impl PipelineEntry {
    pub(crate) fn of(record: &PipelineRecord) -> Self {
        Self {
            repo: record.repo.clone(),
            branch: record.branch.clone(),
            commit: record.commit.clone(),
            file: record.file.clone(),
            trigger: record.trigger.clone(),
            state: record.state,
            tested: jobs_with_tests(record),
        }
    }
}

/// The jobs whose attempts may have tests, each with the number of its latest attempt.
fn jobs_with_tests(record: &PipelineRecord) -> Vec<(String, u32)> {
    // Those of an earlier attempt stay where the latest has none.
    let may_have = |job: &&JobRecord| job.tests.is_some() || job.attempt > 1;
    let jobs = record.jobs.iter().filter(may_have);
    jobs.map(|job| (job.job.clone(), job.attempt)).collect()
}

impl PipelineFilter {
    /// `state` is that of the pipeline now.
    pub(crate) fn takes(
        &self,
        entry: &PipelineEntry,
        state: impl FnOnce() -> PipelineState,
    ) -> bool {
        let is_file = |file: &String| {
            let name = entry.file.rsplit('/').next();
            *file == entry.file || name == Some(file)
        };
        self.branch.as_ref().is_none_or(|it| *it == entry.branch)
            && self.commit.as_ref().is_none_or(|it| *it == entry.commit)
            && self.file.as_ref().is_none_or(is_file)
            && self.state.is_none_or(|it| it == state())
    }
}
