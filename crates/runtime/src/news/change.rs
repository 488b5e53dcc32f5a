//! What can change in the yard.

use schemars::JsonSchema;
use serde::Serialize;

use branchyard_model::{BranchName, RepoName, RunRecord, RunState, SalvageId};

#[derive(Debug, Clone)]
pub enum Change {
    Workspace(WorkspaceNews),
    Run(Box<RunNews>),
    Repo(RepoNews),
    Salvage(SalvageNews),
    Reap(Reaped),
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkspaceNews {
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
    /// Somebody has its turn, or somebody else than before.
    Locked,
    Unlocked,
    Pinned,
    Unpinned,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct RunNews {
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
pub struct RepoNews {
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
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SalvageNews {
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

impl Change {
    /// What it is called on the wire.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Workspace(_) => "workspace",
            Self::Run(_) => "run",
            Self::Repo(_) => "repo",
            Self::Salvage(_) => "salvage",
            Self::Reap(_) => "reap",
        }
    }

    pub fn repo(&self) -> &RepoName {
        match self {
            Self::Workspace(news) => &news.repo,
            Self::Run(news) => &news.run.spec.repo,
            Self::Repo(news) => &news.repo,
            Self::Salvage(news) => &news.repo,
            Self::Reap(news) => &news.repo,
        }
    }

    /// None where it is about the repo as a whole.
    pub fn branch(&self) -> Option<&BranchName> {
        match self {
            Self::Workspace(news) => Some(&news.branch),
            Self::Run(news) => Some(&news.run.spec.branch),
            Self::Repo(_) => None,
            Self::Salvage(news) => Some(&news.branch),
            Self::Reap(news) => news.branch.as_ref(),
        }
    }
}

impl RunNews {
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

impl From<WorkspaceNews> for Change {
    fn from(news: WorkspaceNews) -> Self {
        Self::Workspace(news)
    }
}

impl From<RunNews> for Change {
    fn from(news: RunNews) -> Self {
        Self::Run(Box::new(news))
    }
}

impl From<RepoNews> for Change {
    fn from(news: RepoNews) -> Self {
        Self::Repo(news)
    }
}

impl From<SalvageNews> for Change {
    fn from(news: SalvageNews) -> Self {
        Self::Salvage(news)
    }
}

impl From<Reaped> for Change {
    fn from(news: Reaped) -> Self {
        Self::Reap(news)
    }
}
