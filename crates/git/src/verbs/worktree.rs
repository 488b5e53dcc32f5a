//! `worktree`: the workspaces of a repository, as git has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verbosity;
use branchyard_model::{BranchName, CommitId, Holder};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// How much the answer tells.
    #[serde(default)]
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Worktrees {
    /// In the order of their branches' names.
    pub worktrees: Vec<WorktreeItem>,
    pub total: usize,
    /// How to have one more, and how to be rid of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub how: Option<&'static str>,
    /// How many this answer had no room for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<usize>,
}

/// How workspaces come and go.
pub const HOW: &str = "a request for a branch makes its workspace (PUT /api/repos/REPO/branches/BRANCH, the tool `workspace` with action prepare, git_branch with action create); DELETE of the same address or action remove takes it away";

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "Item")]
pub struct WorktreeItem {
    /// The branch whose workspace it is.
    pub of: BranchName,
    pub path: String,
    /// Where its HEAD is; none where that cannot be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<CommitId>,
    /// It is not on a branch: a rebase is under way, or its branch is parked.
    pub detached: bool,
    /// It is the workspace that this call is about.
    pub current: bool,
    /// Why git leaves it alone: it is being made, or removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked: Option<String>,
    /// Its directory is gone; the next request for the branch makes it anew.
    pub prunable: bool,
    /// Who has its lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holder: Option<Holder>,
}
