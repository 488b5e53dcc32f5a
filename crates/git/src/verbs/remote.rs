//! `remote`: where a repository comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Verbosity;
use super::verb::{Effect, Render, VerbEntry};
use branchyard_model::CommitId;

pub const VERB: VerbEntry = VerbEntry {
    name: "remote",
    title: "Show the remote",
    description: "Tells where the repository comes from, its default branch, and which branches are protected. With ask, it is asked for its branches.",
    effect: Effect::READS.reaching_out(),
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// Ask the remote itself, in place of telling what is known of it.
    pub ask: bool,
    /// How much to tell.
    pub verbosity: Verbosity,
}

/// The one remote of a repository.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Remote {
    /// Always `origin`.
    pub name: String,
    pub url: String,
    /// The branch that is meant where none is named; nothing until it is known.
    pub default_branch: Option<String>,
    /// How many branches of it are known here, or, if it was asked, how many it has.
    pub branches: usize,
    /// Its branches and their commits, as it told: where it was asked, in full.
    pub heads: Option<Vec<Head>>,
    /// Globs of the branches that are protected.
    pub protected: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Head {
    pub name: String,
    pub at: CommitId,
}

impl Render for Remote {
    fn text(&self) -> String {
        let default = self.default_branch.as_deref().unwrap_or("not known yet");
        let mut text = format!(
            "{} is {}; default branch {default}; {} branches; protected: {}",
            self.name,
            self.url,
            self.branches,
            self.protected.join(", ")
        );
        for head in self.heads.iter().flatten() {
            text.push_str(&format!("\n{} {}", head.at, head.name));
        }
        text
    }
}
