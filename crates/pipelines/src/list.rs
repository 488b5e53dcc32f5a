//! Finding pipelines again: what is known of each of them without a look at the disk, so that a list reads only the records
//! that it shows.

use branchyard_model::{BranchName, CommitId, PipelineId, PipelineRecord, PipelineState, RepoName};

#[derive(Debug, Clone)]
pub(crate) struct PipelineEntry {
    pub(crate) repo: RepoName,
    pub(crate) branch: BranchName,
    pub(crate) commit: CommitId,
    pub(crate) file: String,
    pub(crate) trigger: Option<String>,
    /// As it was last noted: of one that is live, that may be another by now.
    pub(crate) state: PipelineState,
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
        }
    }
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
