//! `branch`: which branches there are, and how they stand to their remote and to each other.

mod listing;

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;
use super::{Kept, Verbosity};
use branchyard_model::{BranchName, CommitId, ErrorKind, Problem};

pub use listing::{list, only_there, show, unmerged};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What to do.
    #[serde(default)]
    pub action: Action,
    /// Which branch; rename and show take this one where left out.
    #[serde(default)]
    pub name: Option<String>,
    /// With rename: the new name.
    #[serde(default)]
    pub new_name: Option<String>,
    /// With create: where it starts; the last commit of this branch where left out.
    #[serde(default)]
    pub from: Option<String>,
    /// With list: only branches of which this revision has every commit.
    #[serde(default)]
    pub merged: Option<String>,
    /// With list: only branches that have commits which this revision lacks.
    #[serde(default)]
    pub unmerged: Option<String>,
    /// With list: only branches that have this revision.
    #[serde(default)]
    pub contains: Option<String>,
    /// With list: only branches that lack this revision.
    #[serde(default)]
    pub not_contains: Option<String>,
    /// With list: the remote's branches, as they were last fetched. With delete: on the remote too, if
    /// another branch there has all its commits.
    #[serde(default)]
    pub remote: bool,
    /// With list: only names that this glob matches, such as `agent-*`.
    #[serde(default)]
    pub pattern: Option<String>,
    /// With delete: also a branch with commits or work of its own, which is saved first.
    #[serde(default)]
    pub force: bool,
    /// With delete and rename: also a protected branch, with the right admin.
    #[serde(default)]
    pub allow_protected: bool,
    /// With list, to go on: an answer's `next`.
    #[serde(default)]
    pub skip: usize,
    /// With list: how many at most.
    #[serde(rename = "limit", alias = "count", default = "enough")]
    pub count: usize,
    /// How much the answer tells.
    #[serde(default)]
    pub verbosity: Verbosity,
}

fn enough() -> usize {
    100
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    #[default]
    List,
    /// A new branch, with a workspace of its own.
    Create,
    /// Commits and work get another name, and another workspace; the old ones go.
    Rename,
    /// The branch and its workspace go, here and, if that is asked for, on the remote.
    Delete,
    Show,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Branches {
    pub action: Action,
    /// With list, in the order of their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branches: Option<Vec<Item>>,
    /// With list: how many there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<usize>,
    /// With list: the `skip` with which the rest can be had, if this is not all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<usize>,
    /// The branch that was shown, created or renamed, as it is now, or deleted, as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<Item>,
    /// The workspace of the branch that was created or renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// What was saved before it was discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// With delete: the commit that the remote had, if it was deleted there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_was: Option<CommitId>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Item {
    pub name: String,
    pub id: CommitId,
    /// It is the branch that this call is about.
    pub current: bool,
    /// It has a workspace.
    pub workspace: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub committed_at: Option<Timestamp>,
    /// How it stands to the branch of the same name on the remote, as last fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
    /// Whether the revision that was asked about has all of its commits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged: Option<bool>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Upstream {
    pub name: String,
    /// Commits that the remote's lacks.
    pub ahead: usize,
    /// Commits that only the remote's has.
    pub behind: usize,
}

/// What a listing needs to know beyond the repository.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The branch of the call.
    pub current: BranchName,
    /// The branches that have a workspace.
    pub workspaces: BTreeSet<BranchName>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        let only_with = |is_given: bool, field: &str, action: Action, word: &str| match is_given
            && self.action != action
        {
            true => Err(Problem::unprocessable(
                field,
                format!("it is for action {word}"),
            )),
            false => Ok(()),
        };
        only_with(
            self.new_name.is_some(),
            "new_name",
            Action::Rename,
            "rename",
        )?;
        only_with(self.from.is_some(), "from", Action::Create, "create")?;
        only_with(self.force, "force", Action::Delete, "delete")?;
        if self.action != Action::Delete {
            only_with(self.remote, "remote", Action::List, "list or delete")?;
        }
        for (is_given, field) in [
            (self.merged.is_some(), "merged"),
            (self.unmerged.is_some(), "unmerged"),
            (self.contains.is_some(), "contains"),
            (self.not_contains.is_some(), "not_contains"),
            (self.pattern.is_some(), "pattern"),
        ] {
            only_with(is_given, field, Action::List, "list")?;
        }
        if self.merged.is_some() && self.unmerged.is_some() {
            return Err(Problem::unprocessable(
                "unmerged",
                "`merged` and `unmerged` exclude each other",
            ));
        }
        if self.count == 0 {
            return Err(Problem::unprocessable("limit", "none would be listed"));
        }
        self.pattern()?;
        Ok(())
    }

    fn pattern(&self) -> Result<Option<Pattern>, Problem> {
        self.pattern.as_deref().map(Pattern::new).transpose()
    }

    /// The branch named in `field`, or the refusal that one has to be named.
    pub fn branch(field: &str, name: Option<&str>) -> Result<BranchName, Problem> {
        match name {
            Some(name) => BranchName::parse(name).map_err(|problem| problem.field(field)),
            None => Err(Problem::unprocessable(field, "a branch has to be named")),
        }
    }
}

impl Branches {
    pub fn of(action: Action) -> Self {
        Self {
            action,
            branches: None,
            total: None,
            next: None,
            item: None,
            path: None,
            kept: None,
            remote_was: None,
        }
    }
}

fn no_such_branch(branch: &BranchName) -> Problem {
    let detail = format!("there is no branch named {branch} here");
    Problem::new(ErrorKind::NotFound, "branch_not_found", detail)
        .field("name")
        .help("action list names the branches; those of the remote with `remote: true`")
}
