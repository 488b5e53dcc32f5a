//! `push`: what is here, to the remote. This file knows one attempt; when to try again is the
//! workspace's to decide.

mod send;
mod standing;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::conflicts::{self, Conflict};
use super::integration::How;
use super::verb::{Effect, Render, VerbEntry};
use super::withheld::{self, Withheld};
use super::{Brief, Verbosity, commit};
use branchyard_model::CommitId;

pub use send::{Update, objects_to_send, push};
pub use standing::{Standing, outgoing, standing};

pub const VERB: VerbEntry = VerbEntry {
    name: "push",
    title: "Push to the remote",
    description: "Commits (with a message), takes in what the remote has, pushes, again when the remote moved meanwhile, and verifies. Conflicts are told and push nothing; what is committed stays. New files that look like secrets or build output are withheld unless paths names them.",
    effect: Effect {
        // On an agent's branch, or with force, it replaces what the remote has.
        destroys: true,
        ..Effect::WRITES.repeatable().reaching_out()
    },
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Commit first, with this message. Without it, only what is committed already is pushed.
    pub message: Option<String>,
    /// With a message: what to commit; if left out all that changed, but for secrets and build output.
    #[serde(default)]
    pub paths: Vec<String>,
    /// With a message: who wrote it, as "Name <mail>". The daemon's own identity if left out.
    pub author: Option<String>,
    /// How the remote's commits are taken in first: rebase (the default) or merge; none refuses to push past them.
    #[serde(default)]
    pub integrate: Integrate,
    /// Replace what the remote has, if that is what was last seen. An agent's own branch needs no saying.
    #[serde(default)]
    pub force: bool,
    /// Also to a protected branch, with the right admin.
    #[serde(default)]
    pub allow_protected: bool,
    /// Tags to push along.
    #[serde(default)]
    pub tags: Vec<String>,
    /// Only say what would be pushed.
    #[serde(default)]
    pub dry_run: bool,
    /// How often to try again, 10 at most.
    #[serde(default = "three")]
    pub retries: u32,
    /// How much to tell.
    #[serde(default)]
    pub verbosity: Verbosity,
}

fn three() -> u32 {
    3
}

impl Request {
    /// The commit that is made first, if one is.
    pub fn commit(&self) -> commit::Request {
        commit::Request {
            message: self.message.clone(),
            author: self.author.clone(),
            paths: self.paths.clone(),
            ..commit::Request::default()
        }
    }
}

/// What to do with commits that only the remote has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Integrate {
    #[default]
    Rebase,
    Merge,
    None,
}

impl Integrate {
    pub fn how(self) -> Option<How> {
        match self {
            Self::Rebase => Some(How::Rebase),
            Self::Merge => Some(How::Merge),
            Self::None => None,
        }
    }
}

/// What came of a push.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Pushed {
    pub state: State,
    /// For a dry run: how the branch stands to that of the remote.
    pub standing: Option<Standing>,
    /// What the remote has for the branch now: it was asked after the push.
    pub remote_commit: Option<CommitId>,
    /// The commit that was made first.
    pub committed: Option<CommitId>,
    /// New files that were not committed, because they look like secrets, `build_output` names them, or they were
    /// created while a run was at work here. Name them in `paths` to commit them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub withheld: Vec<Withheld>,
    /// There are more of them than are listed: so many in all.
    pub withheld_in_all: Option<usize>,
    /// The commit of the remote that was taken in first.
    pub integrated: Option<CommitId>,
    /// The commit of the remote that a rewritten history took the place of.
    pub replaced: Option<CommitId>,
    /// Tags that went along.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The commits that the remote lacked, the newest first.
    pub outgoing: Option<Vec<Brief>>,
    /// There are more of them than are listed: so many in all.
    pub outgoing_in_all: Option<usize>,
    /// What went to the remote, though it may not have arrived.
    #[serde(skip)]
    pub sent: Option<CommitId>,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the attempts before the last failed.
    pub failures: Option<Vec<String>>,
    /// Why nothing was pushed: these files were changed here and there. All is as it was before, and what
    /// was committed is still committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    #[default]
    Pushed,
    /// The remote had it all.
    UpToDate,
    /// Nothing was pushed: see `conflicts`.
    Conflicts,
    /// Nothing was pushed, because only what would be was wanted: see `outgoing` and `standing`.
    DryRun,
}

impl Render for Pushed {
    fn text(&self) -> String {
        let mut lines = Vec::new();
        if let Some(commit) = &self.committed {
            lines.push(format!("committed {commit}"));
        }
        if let Some(upstream) = &self.integrated {
            lines.push(format!("took in the remote's {upstream}"));
        }
        if let Some(old) = &self.replaced {
            lines.push(format!("replaced the remote's {old}"));
        }
        let remote = self.remote_commit.as_ref().map(ToString::to_string);
        let remote = remote.unwrap_or_default();
        lines.push(match self.state {
            State::Pushed => format!("pushed: the remote has {remote} now"),
            State::UpToDate => format!("the remote has it all already: {remote}"),
            State::DryRun => "nothing was pushed: this is what would be".to_owned(),
            State::Conflicts => format!(
                "nothing was pushed: conflicts with what the remote has. Take it in with git_pull, resolve with git_resolve, and push again:\n{}",
                conflicts::paths(&self.conflicts)
            ),
        });
        lines.extend(self.outgoing.iter().flatten().map(Brief::line));
        lines.extend(self.outgoing_in_all.map(|all| format!("  … {all} in all")));
        lines.extend(withheld::lines(&self.withheld, self.withheld_in_all));
        if self.attempts > 1 {
            lines.push(format!("it took {} attempts", self.attempts));
        }
        lines.join("\n")
    }
}
