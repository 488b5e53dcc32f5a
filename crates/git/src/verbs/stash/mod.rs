//! `stash`: changes that are put aside. All worktrees of a store share one list of them; a stash is taken
//! by its object's id, and its place in the list is looked up under git's own lock on the list.

mod contents;
mod push;
mod remove;

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changes::lines;
use super::checkout::check_named;
use super::verb::{Effect, Render, VerbEntry};
use super::{Change, Kept, Named, Verbosity, few, input};
use crate::{Error, Git, ObjectId, Repository, Stash, commit_id, files_of};
use branchyard_model::{BranchName, CommitId, ErrorKind, Problem};

pub use contents::{check_changes, files, in_the_way, overlooked, patch};
pub(crate) use push::tree_on_index;
pub use push::{Changes, list, save, store};
pub use remove::remove;

pub const VERB: VerbEntry = VerbEntry {
    name: "stash",
    title: "Put changes aside",
    description: "Puts changes aside (push) and brings them back (pop, apply); list, show and drop. Only this branch's stashes are seen, each taken by its id. With conflicts the stash is kept.",
    effect: Effect::DESTROYS,
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What to do.
    pub action: Action,
    /// With push: what it is about, in one line.
    pub message: Option<String>,
    /// With push: also new files that no ignore rule covers.
    #[serde(default)]
    pub include_untracked: bool,
    /// With push: only changes of these files and directories.
    #[serde(default)]
    pub paths: Vec<String>,
    /// With pop and apply: also stage again what was staged.
    #[serde(default)]
    pub index: bool,
    /// Which one: its id, as list gives it. The newest of this branch where left out, but drop needs it.
    pub stash: Option<String>,
    /// How much the answer tells.
    #[serde(default)]
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The stashes of this branch, the newest first.
    #[default]
    List,
    /// Put changes aside; files become what the last commit has.
    Push,
    /// Bring changes back, and drop the stash if there was no conflict.
    Pop,
    /// Bring changes back, and keep the stash.
    Apply,
    /// Forget a stash; it is saved first.
    Drop,
    /// What a stash changes.
    Show,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Stashed {
    pub action: Action,
    /// The stash that this was about.
    pub stash: Option<Item>,
    /// With list.
    pub stashes: Option<Vec<Item>>,
    /// With pop and apply: files in which both sides changed the same lines. The stash is kept then.
    pub conflicts: Option<Vec<String>>,
    /// Whether the stash is still in the list.
    pub still_listed: Option<bool>,
    /// What it changes; untracked files that it holds count as added.
    pub files: Option<Vec<Change>>,
    /// With show and verbosity full: the changes themselves.
    pub patch: Option<String>,
    /// What was saved before the stash was dropped.
    pub kept: Option<Kept>,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// Its id, by which it is taken.
    pub id: CommitId,
    pub message: String,
    pub made_at: Option<Timestamp>,
    /// The commit that it was made on.
    pub made_on: Option<CommitId>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        let only_with = |field: &str, action: &str| {
            Problem::unprocessable(field, format!("it is for action {action}"))
        };
        if self.action != Action::Push {
            for (is_given, field) in [
                (self.message.is_some(), "message"),
                (self.include_untracked, "include_untracked"),
                (!self.paths.is_empty(), "paths"),
            ] {
                if is_given {
                    return Err(only_with(field, "push"));
                }
            }
        }
        if self.index && !matches!(self.action, Action::Pop | Action::Apply) {
            return Err(only_with("index", "pop or apply"));
        }
        if self.action == Action::Drop && self.stash.is_none() {
            return Err(Problem::unprocessable("stash", "say which one to drop")
                .help("action list gives their ids"));
        }
        if let Some(stash) = &self.stash {
            if matches!(self.action, Action::Push | Action::List) {
                return Err(only_with("stash", "pop, apply, drop or show"));
            }
            CommitId::parse(stash).map_err(|problem| {
                problem
                    .field("stash")
                    .help("a stash is named by its id, as action list gives it")
            })?;
        }
        match &self.message {
            Some(text) if text.trim().is_empty() || text.contains(char::is_control) => Err(
                Problem::bad("message", "the message of a stash is one line of text"),
            ),
            Some(text) => input::check_argument("message", text),
            None => Ok(()),
        }
    }
}

impl Stashed {
    pub fn of(action: Action) -> Self {
        Self {
            action,
            ..Self::default()
        }
    }
}

impl Item {
    pub fn of(repo: &Repository, branch: &BranchName, stash: &Stash) -> Result<Self, Error> {
        let commit = repo.git2().find_commit(stash.commit.git2()).ok();
        let own = subjects(branch);
        let message = own
            .iter()
            .find_map(|own| stash.message.strip_prefix(own.as_str()));
        Ok(Self {
            id: commit_id(stash.commit)?,
            message: message.unwrap_or(&stash.message).to_owned(),
            made_at: commit
                .as_ref()
                .and_then(|commit| Timestamp::from_second(commit.time().seconds()).ok()),
            made_on: commit
                .and_then(|commit| commit.parent_id(0).ok())
                .map(|id| commit_id(ObjectId::of(id)))
                .transpose()?,
        })
    }
}

/// How git begins the subject of a stash that was made on this branch.
pub fn subjects(branch: &BranchName) -> [String; 2] {
    [format!("WIP on {branch}: "), format!("On {branch}: ")]
}

/// A stash that is not listed any more, but was made on this branch.
pub fn dropped(repo: &Repository, branch: &BranchName, id: ObjectId) -> Option<Stash> {
    let commit = repo.git2().find_commit(id.git2()).ok()?;
    let message = String::from_utf8_lossy(commit.summary_bytes()?).into_owned();
    let is_stash = matches!(commit.parent_count(), 2 | 3)
        && subjects(branch)
            .iter()
            .any(|own| message.starts_with(own.as_str()));
    is_stash.then_some(Stash {
        commit: id,
        message,
    })
}

pub fn no_such_stash(stash: Option<&str>, branch: &BranchName) -> Problem {
    let detail = match stash {
        Some(stash) => format!("{branch} has no stash {stash}"),
        None => format!("{branch} has no stash"),
    };
    Problem::new(ErrorKind::NotFound, "stash_not_found", detail)
        .field("stash")
        .help("action list gives the stashes of this branch; those of others are theirs")
}

/// Refuses paths of which there is nothing to put aside.
pub fn check_paths(repo: &Repository, named: &Named, new_ones: bool) -> Result<(), Error> {
    let workdir = files_of(repo).unwrap_or_else(|| "/".into());
    let is_new = |path: &Path| new_ones && fs::symlink_metadata(workdir.join(path)).is_ok();
    check_named(repo, named, is_new)
}

/// Brings the changes of a stash back. What git says if it does not: conflicts, or a refusal.
pub async fn apply(
    git: &Git,
    dir: &Path,
    stash: ObjectId,
    index: bool,
) -> Result<Option<String>, Error> {
    let apply = git
        .in_worktree(dir)
        .unheard()
        .args(["stash", "apply", "--quiet"])
        .args(index.then_some("--index"));
    match apply.arg(stash.to_string()).change_files().await {
        Ok(_) => Ok(None),
        Err(Error::Refused {
            code: Some(1),
            stderr,
            ..
        }) => Ok(Some(stderr)),
        Err(error) => Err(error),
    }
}

/// Git does not look at them, and would put them back without keeping what is in them.
pub fn would_be_lost(files: &[String]) -> Problem {
    let detail = format!(
        "git was told to take these files for unchanged, and changes to them would be lost: {}",
        few(files)
    );
    Problem::new(ErrorKind::Conflict, "overlooked_changes", detail).help(
        "`git update-index --no-assume-unchanged` shows them to git again; or name other `paths`",
    )
}

/// Something that is here would be overwritten.
pub fn stands_in_the_way(files: &[String]) -> Problem {
    let detail = format!("these files are in the way: {}", few(files));
    Problem::new(ErrorKind::Conflict, "in_the_way", detail)
        .help("commit, move or remove them (git_commit, git_clean), and ask again")
}

impl Render for Stashed {
    fn text(&self) -> String {
        let mut text = String::new();
        for item in self.stash.iter().chain(self.stashes.iter().flatten()) {
            text.push_str(&format!("{} {}\n", item.id, item.message));
        }
        if self.stashes.as_ref().is_some_and(Vec::is_empty) {
            text.push_str("this branch has no stash\n");
        }
        for file in self.conflicts.iter().flatten() {
            text.push_str(&format!("conflict: {file}\n"));
        }
        if let Some(kept) = &self.kept {
            text.push_str(kept.line().trim_start());
        }
        let mut text = text.trim_end().to_owned() + &lines(self.files.as_deref());
        if let Some(patch) = &self.patch {
            text.push_str(&format!("\n{patch}"));
        }
        text
    }
}
