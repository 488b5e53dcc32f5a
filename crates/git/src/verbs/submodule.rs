//! `submodule`: has submodules follow what is recorded of them, or records another commit of one.

use std::ffi::OsString;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::verb::{Effect, Render, VerbEntry};
use crate::{Error, Git, SubmoduleState};
use branchyard_model::{CommitId, Problem};

pub const VERB: VerbEntry = VerbEntry {
    name: "submodule",
    title: "Move submodules",
    description: "Brings submodules to their recorded commits (sync), or stages another commit of one (set). Work in them stays.",
    effect: Effect::WRITES.repeatable().reaching_out(),
};

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    pub action: SubmoduleAction,
    /// With set: the submodule.
    pub path: Option<String>,
    /// With set: a full commit id; what is checked out if left out.
    pub commit: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SubmoduleAction {
    Sync,
    Set,
}

/// What is staged, and how they stand then.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SubmodulesMoved {
    /// With set: the commit that is staged for it; git_commit commits that.
    pub staged: Option<CommitId>,
    pub submodules: Vec<SubmoduleState>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        let refused = |field, detail| Err(Problem::unprocessable(field, detail));
        match (self.action, &self.path, &self.commit) {
            (SubmoduleAction::Set, None, _) => {
                refused("path", "`set` is about one submodule: name it")
            }
            (SubmoduleAction::Sync, Some(_), _) => {
                refused("path", "`sync` is about all submodules")
            }
            (SubmoduleAction::Sync, _, Some(_)) => refused(
                "commit",
                "`sync` goes to the commits that are recorded; `set` takes another",
            ),
            (_, _, Some(commit)) => CommitId::parse(commit)
                .map(drop)
                .map_err(|problem| problem.field("commit")),
            _ => Ok(()),
        }
    }
}

/// Stages `commit` for the submodule at `path`.
pub async fn record(git: &Git, dir: &Path, path: &Path, commit: &CommitId) -> Result<(), Error> {
    let mut entry = OsString::from(format!("160000,{commit},"));
    entry.push(path);
    git.in_worktree(dir)
        .args(["update-index", "--cacheinfo"])
        .arg(entry)
        .run()
        .await
}

impl Render for SubmodulesMoved {
    fn text(&self) -> String {
        let staged = self.staged.as_ref();
        let staged = staged.map(|commit| format!("staged {commit}"));
        let lines = self.submodules.iter().map(ToString::to_string);
        let lines: Vec<_> = staged.into_iter().chain(lines).collect();
        match lines.is_empty() {
            true => "there are no submodules".to_owned(),
            false => lines.join("\n"),
        }
    }
}
