//! `branch`: which branches there are, and how they stand to their remote and to each other.

mod listing;

use std::collections::BTreeSet;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pattern::check_listing;
use super::room::cut_page;
use super::verb::{Effect, Render, VerbEntry};
use super::{Kept, Verbosity};
use branchyard_model::{BranchName, CommitId, ErrorKind, Problem};

pub use listing::{list, only_there, show, unmerged};

pub const VERB: VerbEntry = VerbEntry {
    name: "branch",
    title: "Branches",
    description: "Lists, shows, creates (with a workspace of its own), renames or deletes branches. One with commits or work of its own is deleted with `force: true` only, and saved first.",
    effect: Effect::DESTROYS.reaching_out(),
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What to do.
    #[serde(default)]
    pub action: Action,
    /// Which branch; rename and show take this one where left out.
    pub name: Option<String>,
    /// With rename: the new name.
    pub new_name: Option<String>,
    /// With create: where it starts; the last commit of this branch where left out.
    pub from: Option<String>,
    /// With list: only branches of which this revision has every commit.
    pub merged: Option<String>,
    /// With list: only branches that have commits which this revision lacks.
    pub unmerged: Option<String>,
    /// With list: only branches that have this revision.
    pub contains: Option<String>,
    /// With list: only branches that lack this revision.
    pub not_contains: Option<String>,
    /// With list: the remote's, as last fetched. With delete: there too, if another has all its commits.
    #[serde(default)]
    pub remote: bool,
    /// With list: only names that this glob matches, such as `agent-*`.
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

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Branches {
    pub action: Action,
    /// With list, in the order of their names.
    pub branches: Option<Vec<Item>>,
    /// With list: how many there are in all.
    pub total: Option<usize>,
    /// With list: the `skip` with which the rest can be had, if this is not all.
    pub next: Option<usize>,
    /// The branch that was shown, created or renamed, as it is now, or deleted, as it was.
    pub item: Option<Item>,
    /// The workspace of the branch that was created or renamed.
    pub path: Option<String>,
    /// What was saved before it was discarded.
    pub kept: Option<Kept>,
    /// With delete: the commit that the remote had, if it was deleted there.
    pub remote_was: Option<CommitId>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    pub name: String,
    pub id: CommitId,
    /// It is the branch that this call is about.
    pub current: bool,
    /// It has a workspace.
    pub workspace: bool,
    pub subject: Option<String>,
    pub author: Option<String>,
    pub committed_at: Option<Timestamp>,
    /// How it stands to the branch of the same name on the remote, as last fetched.
    pub upstream: Option<Upstream>,
    /// Whether the revision that was asked about has all of its commits.
    pub merged: Option<bool>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
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
        let only_with = |is_given: bool, field: &str, action: Action, word: &str| {
            let detail = || format!("it is for action {word}");
            match is_given && self.action != action {
                true => Err(Problem::unprocessable(field, detail())),
                false => Ok(()),
            }
        };
        let new_name = self.new_name.is_some();
        only_with(new_name, "new_name", Action::Rename, "rename")?;
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
            let detail = "`merged` and `unmerged` exclude each other";
            return Err(Problem::unprocessable("unmerged", detail));
        }
        check_listing(self.count, self.pattern.as_ref())
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
            ..Self::default()
        }
    }
}

fn no_such_branch(branch: &BranchName) -> Problem {
    let detail = format!("there is no branch named {branch} here");
    Problem::new(ErrorKind::NotFound, "branch_not_found", detail)
        .field("name")
        .help("action list names the branches; those of the remote with `remote: true`")
}

impl Render for Branches {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        for item in self.item.iter().chain(self.branches.iter().flatten()) {
            let mark = if item.current { '*' } else { ' ' };
            let subject = item.subject.as_deref().unwrap_or_default();
            let mut line = format!("{mark} {} {} {subject}", item.name, item.id);
            if let Some(Upstream { ahead, behind, .. }) = &item.upstream {
                line.push_str(&format!(" (ahead {ahead}, behind {behind})"));
            }
            lines.push(line.trim_end().to_owned());
        }
        if let Some(path) = &self.path {
            lines.push(format!("its workspace is {path}"));
        }
        if let Some(was) = &self.remote_was {
            lines.push(format!("deleted on the remote, where it was at {was}"));
        }
        if let Some(kept) = &self.kept {
            lines.push(kept.line().trim_start().to_owned());
        }
        if let (Some(next), Some(total)) = (self.next, self.total) {
            lines.push(format!("of {total}; go on with skip: {next}"));
        }
        match lines.is_empty() {
            true => "no branches".to_owned(),
            false => lines.join("\n"),
        }
    }

    fn page(&mut self, room: usize) -> bool {
        cut_page(self.branches.as_mut(), self.total, &mut self.next, room)
    }
}
