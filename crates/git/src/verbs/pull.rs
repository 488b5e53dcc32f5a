//! `pull`: what the remote has, into what is here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verbosity;
use super::conflicts::Conflict;
use super::integration::How;
use branchyard_model::{BranchName, CommitId};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The remote branch to take in; the workspace's own if left out. Another one, such as main, is how a
    /// branch keeps up with its base.
    #[serde(default)]
    pub from: Option<BranchName>,
    /// How: rebase (the default) puts the commits made here on top of what comes; merge makes a merge
    /// commit; ff_only refuses where neither is needed.
    #[serde(default)]
    pub how: PullHow,
    /// Put everything back as it was where there are conflicts, in place of leaving them to be resolved.
    #[serde(default)]
    pub abort_on_conflict: bool,
    /// How much to tell.
    #[serde(default)]
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

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Pulled {
    pub state: State,
    /// The remote branch that was taken in, and its commit.
    pub from: BranchName,
    pub from_commit: CommitId,
    /// Where the workspace was before.
    pub head_before: CommitId,
    /// Files that were changed here and there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
    /// There are more of them than are listed: so many in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conflicts_in_all: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
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
