//! `commit`: what is staged becomes a commit of the branch.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::changes::{between, lines};
use super::verb::{Effect, Render, VerbEntry};
use super::{Change, Verbosity, few, input, staged, unstaged, untracked};
use crate::{Error, Git, ObjectId, Repository, head};
use branchyard_model::{Author, CommitId, ErrorKind, Problem};

/// The code of the refusal to commit nothing.
pub const NOTHING: &str = "nothing_to_commit";

pub const VERB: VerbEntry = VerbEntry {
    name: "commit",
    title: "Commit",
    description: "Commits what is staged, after staging `paths` or, with `all`, every change to tracked files. No hooks run; nothing is pushed.",
    effect: Effect::WRITES,
};

#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// A subject, an empty line, more lines. With `amend` it may be left out, and the old one stays.
    pub message: Option<String>,
    /// Who wrote it, as `Name <address>`. The daemon's own identity where it is left out.
    pub author: Option<String>,
    /// Replace the branch's last commit.
    pub amend: bool,
    /// Commit though nothing changes.
    pub allow_empty: bool,
    /// Files and directories to stage first, besides what is staged already.
    pub paths: Vec<String>,
    /// Stage all changes to tracked files first. New files are left out unless `paths` names them.
    pub all: bool,
    /// If left out, it is signed where the operator gave the daemon a key.
    pub sign: Option<bool>,
    /// Add a `Signed-off-by` line with the daemon's identity.
    pub signoff: bool,
    /// How much the answer tells.
    pub verbosity: Verbosity,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Committed {
    /// The new commit.
    pub id: CommitId,
    pub subject: String,
    /// The commit that this one replaces; it can still be had by this id.
    pub amended: Option<CommitId>,
    pub signed: bool,
    pub files_changed: usize,
    pub additions: usize,
    pub deletions: usize,
    /// What it changes.
    pub files: Option<Vec<Change>>,
    /// Changes to tracked files that it leaves out.
    pub unstaged: Option<Vec<Change>>,
    /// Files that git does not know, whole directories as one.
    pub untracked: Option<Vec<String>>,
}

impl Request {
    pub fn check(&self) -> Result<(), Problem> {
        match &self.message {
            Some(text) => input::check_message(text)?,
            None if self.amend => {}
            None => {
                let detail = "a commit needs a message";
                return Err(Problem::unprocessable("message", detail));
            }
        }
        let Some(author) = &self.author else {
            return Ok(());
        };
        Author::parse(author)?;
        input::check_argument("author", author)
    }
}

/// Why what is staged is no commit, if it is none.
pub fn check_content(repo: &Repository, request: &Request) -> Result<(), Error> {
    let head = head(repo)?;
    if request.allow_empty || head.operation.is_some() {
        return Ok(());
    }
    if !request.amend {
        return match staged(repo)?.is_empty() {
            true => Err(nothing_to_commit(repo)?.into()),
            false => Ok(()),
        };
    }
    let old = repo.git2().find_commit(head.commit.git2())?;
    let index = repo.fresh_index()?;
    // A merge may well have the tree of one of its parents.
    if let [parent] = old.parents().collect::<Vec<_>>().as_slice()
        && repo.diff_to_index(&parent.tree()?, &index)?.deltas().len() == 0
    {
        let detail = "amended like this the commit would change nothing";
        return Err(Problem::new(ErrorKind::Conflict, NOTHING, detail)
            .help("`allow_empty: true` keeps it as an empty commit; git_reset with mode soft to `HEAD~1` takes it away")
            .into());
    }
    Ok(())
}

fn nothing_to_commit(repo: &Repository) -> Result<Problem, Error> {
    let unstaged: Vec<String> = unstaged(repo)?
        .into_iter()
        .map(|change| change.path)
        .collect();
    let untracked = untracked(repo)?;
    let mut detail = "nothing is staged".to_owned();
    for (kind, files) in [("not staged", &unstaged), ("untracked", &untracked)] {
        if !files.is_empty() {
            detail.push_str(&format!("; {kind}: {}", few(files)));
        }
    }
    let help = match unstaged.is_empty() && untracked.is_empty() {
        true => {
            "nothing has changed since the last commit; `allow_empty: true` commits all the same"
        }
        false => "name files in `paths`, or give `all: true` for all changes to tracked files",
    };
    Ok(Problem::new(ErrorKind::Conflict, NOTHING, detail).help(help))
}

/// Commits what is staged in the worktree at `dir`, without a signature.
pub async fn commit(git: &Git, dir: &Path, request: &Request) -> Result<(), Error> {
    let author = request.author.as_ref();
    let command = git
        .in_worktree(dir)
        // A line that begins with `#` is part of the message.
        .args(["commit", "--quiet", "--cleanup=whitespace"])
        .args(request.amend.then_some("--amend"))
        .args(request.allow_empty.then_some("--allow-empty"))
        .args(request.signoff.then_some("--signoff"))
        .args(author.map(|author| format!("--author={author}")));
    let command = match &request.message {
        Some(text) => command
            .arg("--file=-")
            .input(input::bytes(text.as_bytes())?),
        None => command.arg("--no-edit"),
    };
    command.run().await
}

/// Puts `new` in the place of `old`, which HEAD and its branch are at in the worktree at `dir`.
pub async fn replace(git: &Git, dir: &Path, old: ObjectId, new: ObjectId) -> Result<(), Error> {
    git.in_worktree(dir)
        .args(["update-ref", "-m", "commit: signed", "HEAD"])
        .args([new.to_string(), old.to_string()])
        .run()
        .await
}

impl Committed {
    /// What HEAD is now; `amended` is what it replaced.
    pub fn of(
        repo: &Repository,
        verbosity: Verbosity,
        amended: Option<ObjectId>,
    ) -> Result<Self, Error> {
        let commit = repo.git2().find_commit(head(repo)?.commit.git2())?;
        let parent = commit.parents().next();
        let old = parent.map(|parent| parent.tree()).transpose()?;
        let files = between(repo, old.as_ref(), Some(&commit.tree()?))?;
        let is_full = verbosity == Verbosity::Full;
        Ok(Self {
            id: crate::commit_id(ObjectId::of(commit.id()))?,
            subject: subject(&commit),
            amended: amended.map(crate::commit_id).transpose()?,
            signed: commit.header_field_bytes("gpgsig").is_ok(),
            files_changed: files.len(),
            additions: files.iter().filter_map(|file| file.additions).sum(),
            deletions: files.iter().filter_map(|file| file.deletions).sum(),
            files: (verbosity > Verbosity::Minimal).then_some(files),
            unstaged: is_full.then(|| unstaged(repo)).transpose()?,
            untracked: is_full.then(|| untracked(repo)).transpose()?,
        })
    }
}

/// The first line of what a commit says.
pub(super) fn subject(commit: &git2::Commit<'_>) -> String {
    String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default()).into_owned()
}

impl Render for Committed {
    fn text(&self) -> String {
        let amended = self.amended.as_ref();
        let amended = amended.map_or_else(String::new, |old| format!(" in place of {old}"));
        format!(
            "{} {}{amended}\n{} file(s), +{} -{}{}",
            self.id,
            self.subject,
            self.files_changed,
            self.additions,
            self.deletions,
            lines(self.files.as_deref()),
        )
    }
}
