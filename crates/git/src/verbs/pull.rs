//! `pull`: what the remote has, into what is here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verbosity;
use super::conflicts::{self, Conflict};
use super::integration::How;
use super::verb::{Effect, Render, VerbEntry};
use branchyard_model::{BranchName, CommitId};

pub const VERB: VerbEntry = VerbEntry {
    name: "pull",
    title: "Take in what the remote has",
    description: "Fetches a branch of the remote and rebases own commits onto it (or merges it). With from another branch, such as main, it keeps up with its base. Conflicts are left to git_resolve, or with abort_on_conflict undone.",
    effect: Effect::WRITES.reaching_out(),
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The remote branch to take in; the workspace's own if left out. Another one, such as main, is how a
    /// branch keeps up with its base.
    pub from: Option<BranchName>,
    /// How: rebase (the default) puts the commits made here on top of what comes; merge makes a merge
    /// commit; ff_only refuses where neither is needed.
    pub how: PullHow,
    /// Put everything back as it was where there are conflicts, in place of leaving them to be resolved.
    pub abort_on_conflict: bool,
    /// How much to tell.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PullHow {
    #[default]
    Rebase,
    Merge,
    FfOnly,
}

impl PullHow {
    /// A fast-forward is the same either way.
    pub fn how(self) -> How {
        match self {
            Self::Rebase => How::Rebase,
            Self::Merge | Self::FfOnly => How::Merge,
        }
    }
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Pulled {
    pub state: State,
    /// The remote branch that was taken in, and its commit.
    pub from: BranchName,
    pub from_commit: CommitId,
    /// Where the workspace was before.
    pub head_before: CommitId,
    /// Files that were changed here and there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    UpToDate,
    FastForward,
    Rebased,
    Merged,
    /// Under way: resolve them with git_resolve, then continue with git_rebase or git_merge.
    Conflicts,
    /// There were conflicts, and everything is as it was before.
    Aborted,
}

impl Render for Pulled {
    fn text(&self) -> String {
        let there = format!("origin/{} ({})", self.from, self.from_commit);
        let files = || conflicts::paths(&self.conflicts);
        match self.state {
            State::UpToDate => format!("{there} is all here already"),
            State::FastForward => format!("moved forward to {there}"),
            State::Rebased => format!("rebased onto {there}"),
            State::Merged => format!("merged {there}"),
            State::Conflicts => format!(
                "conflicts with {there}; resolve them with git_resolve and continue, or abort:\n{}",
                files()
            ),
            State::Aborted => format!(
                "conflicts with {there}; everything is as it was before:\n{}",
                files()
            ),
        }
    }
}
