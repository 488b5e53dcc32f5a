//! `resolve`: what a conflicted path is to be. The choice is written to the workspace and staged.

mod plan;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use plan::{Chosen, Plan};

use super::Verbosity;
use super::conflicts::{Conflict, Which, conflicts};
use super::integration::{described, named, next_of};
use super::operation::UnderWay;
use super::verb::{Effect, Render, VerbEntry};
use crate::{Error, Repository};
use branchyard_model::{ErrorKind, Problem};

pub const VERB: VerbEntry = VerbEntry {
    name: "resolve",
    title: "Resolve conflicts",
    description: "Settles files in conflict and stages them: take a side, base, delete or the file as it is, or give the content. Without arguments it lists what is left, with the hunks. When nothing is, call the verb under way (git_merge, git_rebase, …) with action continue.",
    effect: Effect::DESTROYS,
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// The conflicted files that are meant.
    pub paths: Vec<String>,
    /// What each of `paths` is to be. `operation` in the answer tells which side is which.
    pub take: Option<Take>,
    /// In place of `take`, for one path: the whole content of the file.
    pub content: Option<String>,
    /// In place of `paths`: take this side of every file that is in conflict.
    pub all: Option<AllOf>,
    /// Accept a content in which conflict markers stand.
    pub allow_markers: bool,
    /// How much the answer tells.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// Our side; where it has no such file, there is none.
    Ours,
    /// Their side; where it has no such file, there is none.
    Theirs,
    /// What both sides began with.
    Base,
    /// No such file.
    Delete,
    /// The file as it is in the workspace now, edited by other means.
    File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AllOf {
    Ours,
    Theirs,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Resolved {
    /// What was resolved by this call.
    pub resolved: Vec<String>,
    /// How many those are, listed or not.
    pub resolved_total: usize,
    /// What is still in conflict.
    pub conflicts: Vec<Conflict>,
    /// How many those are, listed or not.
    pub conflicts_total: usize,
    /// What is under way, and what `ours` and `theirs` mean.
    pub operation: Option<UnderWay>,
    /// Lists or texts were shortened to fit.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// What to do now.
    pub next: Option<String>,
}

impl Request {
    /// What is chosen for the paths; none where conflicts are only to be listed.
    pub fn chosen(&self) -> Result<Option<Chosen>, Problem> {
        let refused = |field: &str, why: &str| Err(Problem::unprocessable(field, why));
        let side = |take| match take {
            Take::Ours => Chosen::Side(Which::Ours),
            Take::Theirs => Chosen::Side(Which::Theirs),
            Take::Base => Chosen::Side(Which::Base),
            Take::Delete => Chosen::Delete,
            Take::File => Chosen::File,
        };
        match (&self.all, self.take, &self.content) {
            (Some(_), None, None) if !self.paths.is_empty() => {
                refused("paths", "give paths or `all`, not both")
            }
            (Some(AllOf::Ours), None, None) => Ok(Some(side(Take::Ours))),
            (Some(AllOf::Theirs), None, None) => Ok(Some(side(Take::Theirs))),
            (Some(_), ..) => refused("all", "it says already what to take"),
            (None, Some(_), Some(_)) => refused("content", "give `take` or a content, not both"),
            (None, Some(_), None) | (None, None, Some(_)) if self.paths.is_empty() => {
                refused("paths", "which of the conflicted files is meant?")
            }
            (None, Some(take), None) => Ok(Some(side(take))),
            (None, None, Some(_)) if self.paths.len() > 1 => refused(
                "content",
                "it is the content of one file, and there are several paths",
            ),
            (None, None, Some(content)) => Ok(Some(Chosen::Content(content.as_bytes().to_owned()))),
            (None, None, None) if !self.paths.is_empty() => {
                refused("take", "what are these files to be?")
            }
            (None, None, None) => Ok(None),
        }
    }
}

impl Resolved {
    /// What is left after `resolved`. Blocks.
    pub fn read(
        repo: &Repository,
        resolved: Vec<String>,
        verbosity: Verbosity,
    ) -> Result<Self, Error> {
        let left = conflicts(repo)?;
        let operation = UnderWay::read(repo)?;
        let next = match &operation {
            Some(under_way) => next_of(under_way, left.len()),
            None => "git_commit commits what is staged".to_owned(),
        };
        Ok(Self {
            resolved_total: resolved.len(),
            resolved,
            conflicts_total: left.len(),
            conflicts: left.into_iter().map(|it| it.told(verbosity)).collect(),
            operation,
            truncated: false,
            next: Some(next),
        })
    }
}

impl Render for Resolved {
    fn text(&self) -> String {
        let mut lines = vec![format!(
            "{} resolved, {} left",
            self.resolved_total, self.conflicts_total
        )];
        lines.extend(self.operation.iter().flat_map(described));
        lines.extend(named(&self.conflicts, self.conflicts_total));
        lines.extend(self.next.iter().map(|next| format!("next: {next}")));
        lines.join("\n")
    }
}

/// There is nothing to resolve.
pub fn no_conflicts() -> Problem {
    let detail = "nothing is in conflict here";
    Problem::new(ErrorKind::Conflict, "no_conflicts", detail)
        .help("git_status tells how the workspace stands")
}
