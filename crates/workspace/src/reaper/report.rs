//! What the reaper would do or did, as people and programs see it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::plan::ReapAction;
use crate::{Error, Pin, Sizes};
use branchyard_model::{BranchName, CommitId, RepoName};

/// A look at the yard, and what came of it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Reaping {
    pub dry_run: bool,
    pub items: Vec<ReapItem>,
    pub stores: Vec<StoreItem>,
    /// Branches of agents that were merged, where `reaper.merged_agent_branches` lets them go.
    #[serde(default)]
    pub branches: Vec<MergedBranch>,
    pub disk: Disk,
    pub totals: Totals,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ReapItem {
    pub repo: RepoName,
    pub branch: BranchName,
    pub action: ReapAction,
    pub why: String,
    /// What keeps it from being removed.
    pub pins: Vec<String>,
    pub sizes: Option<Sizes>,
    /// Seconds in which the daemon ran and nobody used it.
    pub idle: u64,
    pub last_used: Timestamp,
    pub pinned: Option<Pin>,
    /// `null` where nothing was to be done, or nothing was done because only the plan was wanted.
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ReapStore")]
pub struct StoreItem {
    pub repo: RepoName,
    pub action: ReapAction,
    pub why: String,
    pub size: u64,
    pub idle: u64,
    pub outcome: Option<Outcome>,
}

/// What became of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "result", rename_all = "snake_case")]
#[schemars(rename = "ReapOutcome")]
pub enum Outcome {
    Done { bytes: u64 },
    Kept { why: String },
}

impl Outcome {
    pub(super) fn of(done: Result<Self, Error>) -> Self {
        done.unwrap_or_else(|error| Self::Kept {
            why: error.to_string(),
        })
    }
}

/// Bytes.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ReapDisk")]
pub struct Disk {
    pub free: Option<u64>,
    pub total: Option<u64>,
    pub low_water: Option<u64>,
    pub high_water: Option<u64>,
    /// All stores and workspaces.
    pub yard: u64,
    pub max_size: Option<u64>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ReapTotals")]
pub struct Totals {
    /// Including what was to go and could not.
    pub keep: usize,
    pub drop_build_output: usize,
    pub remove: usize,
    pub discard_store: usize,
    /// What the actions free, or freed.
    pub bytes: u64,
}

impl ReapItem {
    /// What its action frees, or freed.
    pub(super) fn freed(&self) -> u64 {
        let planned = self.sizes.map_or(0, |sizes| match self.action {
            ReapAction::Remove => sizes.total(),
            ReapAction::DropBuildOutput => sizes.droppable,
            ReapAction::Keep | ReapAction::DiscardStore => 0,
        });
        freed(planned, self.outcome.as_ref())
    }
}

impl StoreItem {
    pub(super) fn freed(&self) -> u64 {
        let planned = match self.action {
            ReapAction::DiscardStore => self.size,
            _ => 0,
        };
        freed(planned, self.outcome.as_ref())
    }
}

fn freed(planned: u64, outcome: Option<&Outcome>) -> u64 {
    match outcome {
        None => planned,
        Some(Outcome::Done { bytes }) => *bytes,
        Some(Outcome::Kept { .. }) => 0,
    }
}

impl Totals {
    pub(super) fn count(&mut self, action: ReapAction, outcome: Option<&Outcome>, bytes: u64) {
        let came_of_it = match outcome {
            Some(Outcome::Kept { .. }) => ReapAction::Keep,
            Some(Outcome::Done { .. }) | None => action,
        };
        *match came_of_it {
            ReapAction::Keep => &mut self.keep,
            ReapAction::DropBuildOutput => &mut self.drop_build_output,
            ReapAction::Remove => &mut self.remove,
            ReapAction::DiscardStore => &mut self.discard_store,
        } += 1;
        self.bytes += bytes;
    }
}

/// Something that was reaped.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Reaped {
    pub at: Timestamp,
    pub action: ReapAction,
    pub repo: RepoName,
    /// `null` for a store.
    pub branch: Option<BranchName>,
    pub why: String,
    pub bytes: u64,
}

/// A branch of an agent's that was merged.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct MergedBranch {
    pub repo: RepoName,
    pub branch: BranchName,
    pub why: String,
    /// Whether it goes on the remote, too.
    pub remote: bool,
    /// What the remote has for it, of which it was found that it is merged.
    #[serde(skip)]
    pub(super) tip: Option<CommitId>,
    /// `null` where only the plan was wanted.
    pub outcome: Option<Outcome>,
}
