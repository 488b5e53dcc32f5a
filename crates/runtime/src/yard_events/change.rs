//! What can change in the yard.

use schemars::JsonSchema;
use serde::Serialize;

use branchyard_model::{
    BranchName, CommitId, PipelineId, PipelineRecord, PipelineState, RepoName, RunRecord, RunState,
    SalvageId,
};

#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum YardChange {
    Workspace(WorkspaceEvent),
    Run(Box<RunEvent>),
    Repo(RepoEvent),
    Salvage(SalvageEvent),
    Reap(Reaped),
    Maintenance(MaintenanceEvent),
    Pipeline(Box<PipelineEvent>),
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "WorkspaceNews")]
pub struct WorkspaceEvent {
    pub repo: RepoName,
    pub branch: BranchName,
    pub change: WorkspaceChange,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceChange {
    Created,
    Removed,
    /// Brought up to date, used or measured.
    Updated,
    /// Its lock was taken, or changed hands.
    Locked,
    Unlocked,
    Pinned,
    Unpinned,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "RunNews")]
pub struct RunEvent {
    pub change: RunChange,
    pub run: RunRecord,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunChange {
    Queued,
    Preparing,
    Running,
    Ended,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "RepoNews")]
pub struct RepoEvent {
    pub repo: RepoName,
    pub change: RepoChange,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RepoChange {
    Added,
    Removed,
    Cloned,
    Fetched,
    /// Its remote was changed through this daemon.
    Pushed,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "SalvageNews")]
pub struct SalvageEvent {
    pub repo: RepoName,
    pub branch: BranchName,
    pub salvage: SalvageId,
    pub change: SalvageChange,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SalvageChange {
    Saved,
    Restored,
    Dropped,
}

/// What the reaper took.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "ReapNews")]
pub struct Reaped {
    pub action: &'static str,
    pub repo: RepoName,
    /// None where it was the repo's clone.
    pub branch: Option<BranchName>,
    pub why: String,
    pub bytes: u64,
}

/// The objects of a repo were packed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "MaintenanceNews")]
pub struct MaintenanceEvent {
    pub repo: RepoName,
    pub packs_before: usize,
    pub packs: usize,
    pub seconds: f64,
}

/// A pipeline, one of its jobs or one of their steps is in another state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "PipelineNews")]
pub struct PipelineEvent {
    pub pipeline_id: PipelineId,
    pub repo: RepoName,
    pub branch: BranchName,
    pub commit: CommitId,
    pub file: String,
    pub state: PipelineState,
    /// How many jobs there are, and how many of them have ended.
    pub jobs: usize,
    pub jobs_ended: usize,
}

impl PipelineEvent {
    /// As it is now.
    pub fn of(record: &PipelineRecord) -> Self {
        let ended = record.jobs.iter().filter(|job| job.state.is_ended());
        Self {
            pipeline_id: record.pipeline_id,
            repo: record.repo.clone(),
            branch: record.branch.clone(),
            commit: record.commit.clone(),
            file: record.file.clone(),
            state: record.state,
            jobs: record.jobs.len(),
            jobs_ended: ended.count(),
        }
    }
}

impl YardChange {
    pub fn repo(&self) -> &RepoName {
        match self {
            Self::Workspace(events) => &events.repo,
            Self::Run(events) => &events.run.spec.repo,
            Self::Repo(events) => &events.repo,
            Self::Salvage(events) => &events.repo,
            Self::Reap(events) => &events.repo,
            Self::Maintenance(events) => &events.repo,
            Self::Pipeline(events) => &events.repo,
        }
    }

    /// None where it is about the repo as a whole.
    pub fn branch(&self) -> Option<&BranchName> {
        match self {
            Self::Workspace(events) => Some(&events.branch),
            Self::Run(events) => Some(&events.run.spec.branch),
            Self::Repo(_) | Self::Maintenance(_) => None,
            Self::Salvage(events) => Some(&events.branch),
            Self::Pipeline(events) => Some(&events.branch),
            Self::Reap(events) => events.branch.as_ref(),
        }
    }
}

impl RunEvent {
    /// As the run is now, as others may see it.
    pub fn of(record: &RunRecord) -> Self {
        let run = record.clone().shown();
        Self {
            change: match run.state {
                RunState::Queued => RunChange::Queued,
                RunState::Preparing => RunChange::Preparing,
                RunState::Running => RunChange::Running,
                RunState::Ended(_) => RunChange::Ended,
            },
            run,
        }
    }
}
