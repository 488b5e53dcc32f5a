//! `deliver`: the commits of this branch, to another branch of the remote. This file knows what is asked and answered;
//! [`combine`] makes what is pushed, without a worktree of that branch.

mod combine;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflicts::Conflict;
use super::integration::{How, named};
use super::verb::{Effect, Render, VerbEntry};
use super::{Brief, input};
use branchyard_model::{BranchName, CommitId, Problem};

pub use combine::{Combined, combine};

pub const VERB: VerbEntry = VerbEntry {
    name: "deliver",
    title: "Deliver to a shared branch",
    description: "Merges what is committed here into another branch of the remote, or rebases it onto that, pushes and verifies; again when that branch moved meanwhile. A conflict pushes nothing and waits here: git_resolve, git_merge or git_rebase with action continue, and deliver again.",
    effect: Effect::WRITES.repeatable().reaching_out(),
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The branch of the remote that is to have the commits of this one.
    pub into: BranchName,
    /// merge (the default), or rebase: each commit on top of `into`.
    #[serde(default)]
    pub how: How,
    /// Of the merge commit; a usual one if left out.
    pub message: Option<String>,
}

impl Request {
    /// What makes no sense together, before anything is looked at.
    pub fn check(&self, from: &BranchName) -> Result<(), Problem> {
        if self.into == *from {
            let detail = "this is that branch";
            return Err(Problem::unprocessable("into", detail)
                .help("git_push sends a branch to its own place on the remote"));
        }
        match &self.message {
            Some(_) if self.how == How::Rebase => {
                let detail = "it is for a merge: a rebase keeps the messages of its commits";
                Err(Problem::unprocessable("message", detail))
            }
            Some(message) => input::check_message(message),
            None => Ok(()),
        }
    }
}

/// What came of a delivery.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Delivered {
    pub state: DeliveryState,
    pub into: BranchName,
    /// What the remote has for `into` now: it was asked after the push.
    pub remote_commit: CommitId,
    /// The commits that `into` lacked, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outgoing: Vec<Brief>,
    /// There are more of them than are listed: so many in all.
    pub outgoing_in_all: Option<usize>,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the attempts before the last failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<String>,
    /// Why nothing was pushed: these files were changed here and there. The merge or rebase is under way in this workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "State")]
pub enum DeliveryState {
    Delivered,
    /// `into` had it all.
    UpToDate,
    /// Nothing was pushed: see `conflicts`.
    Conflicts,
}

impl Render for Delivered {
    fn text(&self) -> String {
        let (into, there) = (&self.into, &self.remote_commit);
        let mut lines = vec![match self.state {
            DeliveryState::Delivered => format!("delivered: {into} on the remote is at {there}"),
            DeliveryState::UpToDate => format!("{into} has it all already: {there}"),
            DeliveryState::Conflicts => format!(
                "nothing was pushed: conflicts with {into} ({there}). They wait in this workspace: resolve with git_resolve, continue with git_merge or git_rebase, and deliver again"
            ),
        }];
        lines.extend(named(&self.conflicts, self.conflicts.len()));
        lines.extend(self.outgoing.iter().map(Brief::line));
        lines.extend(self.outgoing_in_all.map(|all| format!("  … {all} in all")));
        if self.attempts > 1 {
            lines.push(format!("it took {} attempts", self.attempts));
        }
        lines.join("\n")
    }
}
