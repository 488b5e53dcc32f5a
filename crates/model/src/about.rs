//! The state of a workspace, as answers and runs tell it.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BranchName, CommitId};

/// The state of a workspace that an answer or a run is about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct About {
    pub commit: CommitId,
    pub tree: CommitId,
    /// Whether tracked files or the index differ from `commit`; left out where the daemon did not look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
    /// Commits here that the remote branch was never seen to have.
    pub ahead: usize,
    /// Commits of the remote branch that are not here.
    pub behind: usize,
    /// When the remote was last asked for this branch.
    pub fetched_at: Option<Timestamp>,
    /// True when the remote could not be asked this time and the caller allowed that.
    #[serde(default)]
    pub stale: bool,
}

/// A workspace that was made from a sibling: sources and build output were copied, and the difference checked out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Warm {
    /// Whose workspace it was made from.
    pub branch: BranchName,
    /// The commit that it was at.
    pub commit: CommitId,
    /// How many files were copied.
    pub files: u64,
    /// How much that was.
    pub bytes: u64,
    /// How many paths differed, and were checked out or removed.
    pub differing: u64,
    /// How long it took.
    pub ms: u64,
}
