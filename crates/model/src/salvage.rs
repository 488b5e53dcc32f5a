//! Salvage: work that was saved before something would have discarded it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BranchName, CommitId, RepoName, SalvageId};

/// What would have discarded the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SalvageReason {
    /// `sync: reset`, or a reset that was asked for.
    Reset,
    /// `clean: true`, or a clean that was asked for.
    Clean,
    /// A checkout of files over changed ones.
    Checkout,
    /// A stash was dropped.
    Stash,
    /// The branch was given another name.
    Rename,
    /// The workspace was removed, by force or with build output in it that git does not ignore.
    Remove,
    /// A checkout that was cut off had to be completed.
    CutOff,
    /// Another salvage was restored in its place.
    Restore,
    /// An operation was aborted, or a step of it skipped, after somebody had worked on it.
    Abort,
    /// A conflict was resolved over a file that somebody had edited.
    Resolve,
}

/// One salvage, as everyone sees it.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Salvage {
    pub id: SalvageId,
    pub repo: RepoName,
    pub branch: BranchName,
    pub at: Timestamp,
    pub reason: SalvageReason,
    /// Who asked for what would have discarded it.
    pub by: String,
    /// The commit that HEAD was at.
    pub commit: Option<CommitId>,
    /// What there was to lose, a reason each.
    pub work: Vec<String>,
    /// What could not be saved, by path: sockets and devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_saved: Vec<String>,
}

impl Salvage {
    /// The work in one line, and what of it is missing.
    pub fn summary(&self) -> String {
        let work = self.work.join("; ");
        match self.not_saved.is_empty() {
            true => work,
            false => format!("{work}; not saved: {}", self.not_saved.join(", ")),
        }
    }
}

/// A file that a salvage holds, against the commit that the workspace was at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SalvagedFile {
    pub path: String,
    pub change: FileChange,
    /// Bytes; none of a file that was deleted.
    pub size: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileChange {
    Added,
    Changed,
    Deleted,
}
