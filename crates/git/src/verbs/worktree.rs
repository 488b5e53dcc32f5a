//! `worktree`: the workspaces of a repository, as git has them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verbosity;
use super::verb::{Effect, Render, VerbEntry};
use branchyard_model::{BranchName, CommitId, Holder};

pub const VERB: VerbEntry = VerbEntry {
    name: "worktree",
    title: "List workspaces",
    description: "Lists the workspaces of the repository: branch, directory, commit, who is at work there. `workspace` makes and removes them.",
    effect: Effect::READS,
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// How much the answer tells.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Worktrees {
    /// In the order of their branches' names.
    pub worktrees: Vec<WorktreeItem>,
    pub total: usize,
    /// How to have one more, and how to be rid of one.
    pub how: Option<String>,
}

/// How workspaces come and go.
pub const HOW: &str = "a request for a branch makes its workspace (PUT /api/repos/REPO/branches/BRANCH, the tool `workspace` with action prepare, git_branch with action create); DELETE of the same address or action remove takes it away";

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Item")]
pub struct WorktreeItem {
    /// The branch whose workspace it is.
    pub of: BranchName,
    pub path: String,
    /// Where its HEAD is; none where that cannot be read.
    pub head: Option<CommitId>,
    /// It is not on a branch: a rebase is under way, or its branch is parked.
    pub detached: bool,
    /// It is the workspace that this call is about.
    pub current: bool,
    /// Why git leaves it alone: it is being made, or removed.
    pub locked: Option<String>,
    /// Its directory is gone; the next request for the branch makes it anew.
    pub prunable: bool,
    /// Who has its lock.
    pub holder: Option<Holder>,
}

impl Render for Worktrees {
    fn text(&self) -> String {
        let mut text = format!("{} workspace(s)", self.total);
        for item in &self.worktrees {
            let head = item.head.as_ref().map_or("?", |head| head.as_str());
            text.push_str(&format!("\n{head} {} in {}", item.of, item.path));
            if let Some(holder) = &item.holder {
                text.push_str(&format!(", busy with {}", holder.what));
            }
        }
        text
    }
}
