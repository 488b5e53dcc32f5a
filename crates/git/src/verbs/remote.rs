//! `remote`: where a repository comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verbosity;
use branchyard_model::CommitId;

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Ask the remote itself, in place of telling what is known of it.
    #[serde(default)]
    pub ask: bool,
    /// How much to tell.
    #[serde(default)]
    pub verbosity: Verbosity,
}

/// The one remote of a repository.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Remote {
    /// Always `origin`.
    pub name: &'static str,
    pub url: String,
    /// The branch that is meant where none is named; nothing until it is known.
    pub default_branch: Option<String>,
    /// How many branches of it are known here, or, if it was asked, how many it has.
    pub branches: usize,
    /// Its branches and their commits, as it told: where it was asked, in full.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<Vec<Head>>,
    /// There are more of them than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Globs of the branches that are protected.
    pub protected: Vec<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Head {
    pub name: String,
    pub at: CommitId,
}
