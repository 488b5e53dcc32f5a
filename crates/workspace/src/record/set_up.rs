//! How a workspace was set up.

use serde::{Deserialize, Serialize};

use branchyard_model::CommitId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SetUp {
    /// Of the set-up whose outputs are here, whole.
    pub(crate) key: String,
    /// None where nothing vouches for what they were made among.
    pub(crate) made_at: Option<MadeAt>,
    /// The branch was protected when they came here.
    pub(crate) was_protected: bool,
    /// Another workspace made them.
    pub(crate) copied: bool,
}

/// Who may have the outputs of a set-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MadeAt {
    /// Branches that are not protected.
    OpenBranch,
    /// Those, and protected branches on which the remote has this commit.
    Commit(CommitId),
}
