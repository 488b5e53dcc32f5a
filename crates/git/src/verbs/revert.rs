//! `revert`: new commits that undo what earlier ones changed.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::Verbosity;
use super::integration::{Ended, Origin};
use super::operation::Operation;
use super::picks::{self, PickAction, Picks};
use super::strategy::StrategyOption;
use super::verb::{Effect, VerbEntry};
use crate::{Error, Git};
use branchyard_model::Problem;

pub const VERB: VerbEntry = VerbEntry {
    name: "revert",
    title: "Revert",
    description: "Undoes commits by new ones, without rewriting history. Stops at conflicts: resolve with git_resolve, then action continue, skip or abort.",
    effect: Effect::DESTROYS,
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// With one under way: continue once nothing is in conflict, skip the commit at which it stopped, or abort.
    pub action: PickAction,
    /// The commits to undo, in the order in which that is to happen: the newest first, mostly.
    pub commits: Vec<String>,
    /// Only stage the changes of one commit.
    pub no_commit: bool,
    /// For a merge commit: the parent, counted from 1, whose state is to come back.
    pub mainline: Option<usize>,
    /// As for git_merge.
    #[schemars(with = "Vec<String>")]
    pub strategy_options: Vec<StrategyOption>,
    /// How much the answer tells.
    pub verbosity: Verbosity,
}

impl Request {
    /// What makes no sense together, before anything is looked at.
    pub fn check(&self) -> Result<(), Problem> {
        self.picks().check(self.action)
    }

    fn picks(&self) -> Picks {
        Picks {
            operation: Operation::Revert,
            commits: self.commits.clone(),
            range: None,
            no_commit: self.no_commit,
            mainline: self.mainline,
            strategy_options: self.strategy_options.clone(),
            args: &["--no-edit"],
        }
    }
}

/// Begins to revert in what is checked out at `dir`.
pub async fn start(git: &Git, dir: &Path, request: &Request) -> Result<(Origin, Ended), Error> {
    picks::start(request.picks(), git, dir).await
}
