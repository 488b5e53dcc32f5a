//! What is under way in a workspace: a merge, a rebase or the like that stopped and waits to be ended.
//! Git's own files say so, and they outlive every daemon.

use std::fs;
use std::path::Path;

use git2::{Commit, Oid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::brief::Brief;
use crate::{Error, Repository};
use branchyard_model::{ErrorKind, Problem};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    Merge,
    Rebase,
    CherryPick,
    Revert,
    /// Changes were applied without a commit (a squash, a pick with `no_commit`, a stash) and left
    /// conflicts.
    Apply,
    /// Patches out of mails; none of our verbs starts one.
    Mailbox,
    /// A search for a commit; none of our verbs starts one.
    Bisect,
}

/// How far an operation is, and which side is which.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct UnderWay {
    pub kind: Operation,
    /// Of `total`, counted from 1.
    pub step: usize,
    pub total: usize,
    /// The commit that is being applied or merged.
    pub applying: Option<Brief>,
    /// What `ours` means in its conflicts. In a rebase that is not the work of this branch.
    pub ours_is: OperationSide,
    /// What `theirs` means in its conflicts.
    pub theirs_is: OperationSide,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Side")]
pub struct OperationSide {
    pub what: String,
    #[serde(flatten)]
    pub at: Option<Brief>,
}

impl Operation {
    /// What is under way here, if anything. Blocks.
    pub fn under_way(repo: &Repository) -> Result<Option<Self>, Error> {
        // Of a linked worktree this is its own administration.
        let admin = repo.path();
        let has = |name: &str| admin.join(name).exists();
        let found = if has("rebase-apply/applying") {
            Some(Self::Mailbox)
        } else if has("rebase-merge") || has("rebase-apply") {
            Some(Self::Rebase)
        } else if has("MERGE_HEAD") {
            Some(Self::Merge)
        } else if has("CHERRY_PICK_HEAD") {
            Some(Self::CherryPick)
        } else if has("REVERT_HEAD") {
            Some(Self::Revert)
        } else if let Some(steps) = Steps::read(admin) {
            // Somebody committed the step at which it stopped, and the others wait.
            Some(steps.kind)
        } else if has("BISECT_LOG") {
            Some(Self::Bisect)
        } else {
            None
        };
        Ok(match found {
            None if repo.git2().index()?.has_conflicts() => Some(Self::Apply),
            found => found,
        })
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Apply => "application of changes that left conflicts",
            Self::Mailbox => "am",
            Self::Bisect => "bisect",
        }
    }

    /// How it is brought to an end.
    pub fn way_out(self) -> &'static str {
        match self {
            Self::Merge => "git_merge with action continue or abort",
            Self::Rebase => "git_rebase with action continue, skip or abort",
            Self::CherryPick => "git_cherry_pick with action continue, skip or abort",
            Self::Revert => "git_revert with action continue, skip or abort",
            Self::Apply => {
                "git_resolve and then git_commit, or git_merge with action abort to put all back"
            }
            Self::Mailbox => "`git am --abort` in a run of the workspace",
            Self::Bisect => "`git bisect reset` in a run of the workspace",
        }
    }

    /// Nothing else can begin before it has ended.
    pub fn in_the_way(self) -> Problem {
        let detail = format!("a {} is under way here", self.name());
        Problem::new(ErrorKind::Conflict, "operation_under_way", detail)
            .help(format!("end it first: {}", self.way_out()))
    }
}

impl UnderWay {
    /// Blocks.
    pub fn read(repo: &Repository) -> Result<Option<Self>, Error> {
        let Some(kind) = Operation::under_way(repo)? else {
            return Ok(None);
        };
        let admin = repo.path();
        let head = repo.git2().head()?.peel_to_commit()?;
        let (step, total) = kind.progress(repo, &head);
        let applying = kind.applying(repo);
        let ours = match kind {
            Operation::Rebase => {
                "what is rebased onto, with the commits of this branch that are replayed so far"
            }
            _ => "this branch, as it is checked out",
        };
        let (what, theirs) = match kind {
            Operation::Merge => ("what is being merged", applying.clone()),
            Operation::Rebase => {
                let what = "the commit of this branch that is replayed";
                (what, applying.clone())
            }
            Operation::CherryPick => ("the commit that is picked", applying.clone()),
            Operation::Revert => {
                let before = applying.as_ref().and_then(|commit| commit.parent(0).ok());
                ("the state before the commit that is reverted", before)
            }
            Operation::Apply => ("the changes that were applied", squashed(repo, admin)),
            Operation::Mailbox | Operation::Bisect => ("what is applied", applying.clone()),
        };
        Ok(Some(Self {
            kind,
            step,
            total,
            applying: applying.as_ref().map(Brief::of),
            ours_is: OperationSide::new(ours, Some(&head)),
            theirs_is: OperationSide::new(what, theirs.as_ref()),
        }))
    }
}

impl OperationSide {
    fn new(what: &str, at: Option<&Commit<'_>>) -> Self {
        Self {
            what: what.to_owned(),
            at: at.map(Brief::of),
        }
    }
}

impl Operation {
    fn progress(self, repo: &Repository, head: &Commit<'_>) -> (usize, usize) {
        let admin = repo.path();
        let number = |name: &str| {
            let text = fs::read_to_string(admin.join(name)).ok()?;
            text.trim().parse::<usize>().ok()
        };
        let counted = match self {
            Self::Rebase => number("rebase-merge/msgnum")
                .zip(number("rebase-merge/end"))
                .or_else(|| number("rebase-apply/next").zip(number("rebase-apply/last"))),
            Self::CherryPick | Self::Revert => Steps::read(admin).map(|steps| {
                let made = steps.made(repo, head.id());
                (made + 1, made + steps.left.len())
            }),
            _ => None,
        };
        counted.unwrap_or((1, 1))
    }

    fn applying(self, repo: &Repository) -> Option<Commit<'_>> {
        let names: &[&str] = match self {
            Self::Merge => &["MERGE_HEAD"],
            Self::Rebase => &["rebase-merge/stopped-sha", "REBASE_HEAD"],
            Self::CherryPick => &["CHERRY_PICK_HEAD"],
            Self::Revert => &["REVERT_HEAD"],
            Self::Apply | Self::Mailbox | Self::Bisect => &[],
        };
        let mut files = names.iter().map(|name| repo.path().join(name));
        files.find_map(|file| commit_in(repo, &file))
    }
}

/// The commits that are still to be applied when what is under way goes on, the one it stopped at
/// included. Blocks.
pub(crate) fn to_come(repo: &Repository) -> Vec<Oid> {
    let admin = repo.path();
    let rebase = fs::read_to_string(admin.join("rebase-merge/git-rebase-todo")).unwrap_or_default();
    let steps = Steps::read(admin).map(|steps| steps.left);
    // `pick <id> <subject>`, and `merge -C <id> <label>`: whatever names a commit counts.
    let named = rebase.lines().filter(|line| !line.starts_with('#'));
    let named = named.flat_map(|line| line.split_whitespace().skip(1).take(2));
    let mut found: Vec<Oid> = named
        .map(str::to_owned)
        .chain(steps.unwrap_or_default())
        .filter(|word| word.len() >= 7 && word.bytes().all(|b| b.is_ascii_hexdigit()))
        .filter_map(|word| {
            repo.git2()
                .revparse_single(&word)
                .ok()?
                .peel_to_commit()
                .ok()
        })
        .map(|commit| commit.id())
        .collect();
    let kind = Operation::under_way(repo).ok().flatten();
    found.extend(kind.and_then(|kind| Some(kind.applying(repo)?.id())));
    found
}

/// How many commits a sequence of picks or reverts is to make, those included that it made. Blocks.
pub fn steps_planned(repo: &Repository) -> Result<usize, Error> {
    let head = repo.git2().head()?.peel_to_commit()?;
    let steps = Steps::read(repo.path());
    Ok(steps.map_or(1, |steps| {
        let is_committed = !has_step_head(repo);
        steps.made(repo, head.id()) + steps.left.len() - usize::from(is_committed)
    }))
}

/// Whether a pick or a revert stopped before its commit. Blocks.
pub(super) fn has_step_head(repo: &Repository) -> bool {
    let names = ["CHERRY_PICK_HEAD", "REVERT_HEAD"];
    names.iter().any(|name| repo.path().join(name).exists())
}

/// What the sequencer still has to do, the step it stopped at included.
struct Steps {
    kind: Operation,
    /// Abbreviated ids.
    left: Vec<String>,
    /// Where it began.
    start: Option<Oid>,
}

impl Steps {
    fn read(admin: &Path) -> Option<Self> {
        let dir = admin.join("sequencer");
        let todo = fs::read_to_string(dir.join("todo")).ok()?;
        let mut kind = Operation::CherryPick;
        let mut left = Vec::new();
        for line in todo.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            if words.next() == Some("revert") {
                kind = Operation::Revert;
            }
            left.extend(words.next().map(str::to_owned));
        }
        let start = fs::read_to_string(dir.join("head")).ok();
        let start = start.and_then(|id| Oid::from_str(id.trim()).ok());
        Some(Self { kind, left, start })
    }

    fn made(&self, repo: &Repository, head: Oid) -> usize {
        let count = |start| repo.git2().graph_ahead_behind(head, start).ok();
        self.start.and_then(count).map_or(0, |(ahead, _)| ahead)
    }
}

/// What a squash was of: git keeps no more of it than its message.
fn squashed<'repo>(repo: &'repo Repository, admin: &Path) -> Option<Commit<'repo>> {
    let message = fs::read_to_string(admin.join("SQUASH_MSG")).ok()?;
    let mut lines = message.lines();
    let newest = Oid::from_str(lines.find_map(|line| line.strip_prefix("commit "))?.trim());
    repo.git2().find_commit(newest.ok()?).ok()
}

fn commit_in<'repo>(repo: &'repo Repository, file: &Path) -> Option<Commit<'repo>> {
    let text = fs::read_to_string(file).ok()?;
    let id = Oid::from_str(text.lines().next()?.trim()).ok()?;
    repo.git2().find_commit(id).ok()
}
