//! `reset`: moves the branch to another commit, or takes files out of the next one.

use std::path::{Path, PathBuf};

use git2::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changes::{lines, shown};
use super::verb::{Effect, Render, VerbEntry};
use super::{Change, Kept, Named, Verbosity, input};
use crate::status::missing_from;
use crate::{Error, Git, ObjectId, Repository, tracked_statuses};
use branchyard_model::{CommitId, Problem};

pub const VERB: VerbEntry = VerbEntry {
    name: "reset",
    title: "Reset",
    description: "Moves the branch to another commit (soft, mixed, hard), or takes `paths` out of the next commit. Mode hard discards changes and needs `confirm: true`; they are saved first.",
    effect: Effect::DESTROYS.repeatable(),
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// What is moved besides the branch.
    pub mode: Mode,
    /// The commit to go to, such as `HEAD~1`, a branch, a tag or an id. The last commit where left out.
    pub to: Option<String>,
    /// Take only these files out of the next commit; the branch stays. Only with mode mixed.
    pub paths: Vec<String>,
    /// Mode hard discards changes, and has to be confirmed by `true`. They are saved first.
    pub confirm: bool,
    /// How much the answer tells.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Only the branch: what it leaves behind is staged.
    Soft,
    /// Branch and index: files stay as they are.
    #[default]
    Mixed,
    /// Branch, index and tracked files.
    Hard,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    pub mode: Mode,
    /// The commit that the branch was at.
    pub was_at: CommitId,
    /// The commit that the branch is at.
    pub now_at: CommitId,
    /// How many commits no branch and no tag leads to any more. `was_at` still does: a reset to it brings
    /// them back.
    pub left_behind: usize,
    /// What was saved before it was discarded.
    pub kept: Option<Kept>,
    /// How many files the next commit would change.
    pub staged_files: usize,
    /// What the next commit would change.
    pub staged: Option<Vec<Change>>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        if !self.paths.is_empty() && self.mode != Mode::Mixed {
            let detail = "single files are reset with mode mixed only";
            return Err(Problem::unprocessable("paths", detail)
                .help("git_checkout brings files back as a commit has them"));
        }
        Ok(())
    }
}

/// Moves branch, or branch and index, of the worktree at `dir`; no file changes.
pub async fn reset(git: &Git, dir: &Path, mode: Mode, to: ObjectId) -> Result<(), Error> {
    let how = match mode {
        Mode::Soft => "--soft",
        Mode::Mixed | Mode::Hard => "--mixed",
    };
    let reset = git.in_worktree(dir).args(["reset", "--quiet", how]);
    reset.arg(to.to_string()).arg("--").run().await
}

/// Makes the index what `to` has, for these paths only.
pub async fn unstage(git: &Git, dir: &Path, to: ObjectId, paths: &[PathBuf]) -> Result<(), Error> {
    git.in_worktree(dir)
        .literal_paths()
        .args(["reset", "--quiet"])
        .args(["--pathspec-from-file=-", "--pathspec-file-nul"])
        .arg(to.to_string())
        .input(input::paths(paths)?)
        .run()
        .await
}

/// Files that are staged as neither the last commit nor the workspace has them: a reset of the index would
/// lose that version.
pub fn only_staged(repo: &Repository, named: &Named) -> Result<Vec<String>, Error> {
    let in_index = Status::INDEX_NEW | Status::INDEX_MODIFIED | Status::INDEX_TYPECHANGE;
    let differs = Status::WT_MODIFIED | Status::WT_DELETED | Status::WT_TYPECHANGE;
    let mut files = Vec::new();
    for (path, status) in tracked_statuses(repo)? {
        let is_only_there = status.intersects(in_index) && status.intersects(differs);
        if (is_only_there || status.is_conflicted()) && named.covers(&path) {
            files.push(shown(&path));
        }
    }
    Ok(files)
}

/// How many commits of `from` are neither `to`'s nor any other branch's or tag's. `own` is the branch that
/// moves.
pub fn left_behind(
    repo: &Repository,
    own: &str,
    from: ObjectId,
    to: ObjectId,
) -> Result<usize, Error> {
    if from == to {
        return Ok(0);
    }
    let mut known = vec![to.git2()];
    for reference in repo.git2().references()? {
        let reference = reference?;
        let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
        let counts = ["refs/heads/", "refs/remotes/", "refs/tags/"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        // A tag may name something else than a commit.
        if counts
            && name != own
            && let Ok(commit) = reference.peel_to_commit()
        {
            known.push(commit.id());
        }
    }
    missing_from(repo, from.git2(), &known)
}

impl Render for Done {
    fn text(&self) -> String {
        let mut text = match self.was_at == self.now_at {
            true => format!("the branch stays at {}", self.now_at),
            false => format!("the branch went from {} to {}", self.was_at, self.now_at),
        };
        if self.left_behind > 0 {
            text.push_str(&format!(
                "\n{} commit(s) are on no branch any more; a reset to {} brings them back",
                self.left_behind, self.was_at
            ));
        }
        text.extend(self.kept.as_ref().map(Kept::line));
        text.push_str(&format!("\n{} file(s) staged", self.staged_files));
        text + &lines(self.staged.as_deref())
    }
}
