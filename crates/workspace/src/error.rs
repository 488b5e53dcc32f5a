//! Why a workspace cannot be had or changed.

use std::io;
use std::path::Path;

use crate::repos;
use branchyard_git::{self as git, RemoteFailure};
use branchyard_model::{BranchName, ErrorKind, NamedRef, Problem, Scope};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Repo(#[from] repos::RepoError),
    #[error(transparent)]
    Git(#[from] git::Error),
    #[error(transparent)]
    Refused(#[from] Problem),
    #[error("failed to {what}: {source}")]
    Io {
        what: &'static str,
        source: std::io::Error,
    },
}

impl Error {
    pub(super) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { what, source }
    }

    pub fn is_remote(&self) -> bool {
        match self {
            Self::Repo(error) => error.is_remote(),
            Self::Git(error) => error.is_remote(),
            _ => false,
        }
    }

    /// In which way the remote failed, if it was the remote.
    pub fn failure(&self) -> Option<RemoteFailure> {
        match self {
            Self::Repo(error) => error.failure(),
            Self::Git(error) => error.failure(),
            Self::Refused(_) | Self::Io { .. } => None,
        }
    }

    pub fn problem(&self) -> Problem {
        match self {
            Self::Repo(error) => error.problem(),
            Self::Git(error) => error.problem(),
            Self::Refused(problem) => problem.clone(),
            Self::Io { what, source } => {
                Problem::unwritten("workspace_failed", &format!("failed to {what}"), source)
            }
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        error.problem()
    }
}

pub fn branch_not_found(branch: &BranchName) -> Problem {
    Problem::new(
        ErrorKind::NotFound,
        "branch_not_found",
        match NamedRef::of(branch) {
            Some(named) => format!("the remote has neither a branch {branch} nor {}", named.full()),
            None => format!("the remote has no branch named {branch}"),
        },
    )
    .field("branch")
    .help("GET …/branches?remote=true or `branchyard branches REPO --remote` lists them; PUT with `from` creates one")
}

/// A name that stands for something else can be no branch, neither here nor on the remote.
pub fn check_is_branch(name: &BranchName) -> Result<(), Problem> {
    let Some(named) = NamedRef::of(name) else {
        return Ok(());
    };
    let detail = format!("{name} stands for {}, and is no branch", named.full());
    Err(Problem::new(ErrorKind::Unprocessable, "not_a_branch", detail)
        .field("branch")
        .help("it can be built and read; for changes of your own, make a branch of another name from it"))
}

pub(super) fn conflict(code: &str, detail: impl Into<String>) -> Problem {
    Problem::new(ErrorKind::Conflict, code, detail)
}

pub(super) fn no_workspace(branch: &BranchName) -> Problem {
    Problem::new(
        ErrorKind::NotFound,
        "no_workspace",
        format!("{branch} has no workspace"),
    )
    .field("branch")
}

/// A protected branch is left alone.
pub fn protected_branch(branch: &BranchName, done: &str) -> Problem {
    let detail = format!("{branch} is protected: it is not {done} directly");
    Problem::new(ErrorKind::Forbidden, "protected_branch", detail)
        .field("branch")
        .help("push to a branch of your own and have it merged; whoever has the right admin can use git_push and git_branch (POST …/git/push, …/git/branch) with `allow_protected: true`")
}

/// To have a protected branch `done` something to takes the right admin.
pub fn protected_from(branch: &BranchName, done: &str) -> Problem {
    let detail = format!("{branch} is protected: without the right admin it is not {done}");
    Problem::new(ErrorKind::Forbidden, "protected_branch", detail)
        .field("branch")
        .missing(Scope::Admin)
        .help("work on a branch of your own (git_clone, git_branch) and have it merged; git_remote tells which branches are protected")
}

/// Commits are made faster than they can be saved.
pub(super) fn branch_moves(branch: &BranchName) -> Problem {
    conflict(
        "branch_moved",
        format!("{branch} moves all the time: a program commits there"),
    )
    .field("branch")
    .help("let that end, then ask again")
}

/// What is mounted in the workspace is not its own, and files do not move from one mount to another.
pub(super) fn mounted(branch: &BranchName, why: &io::Error) -> Problem {
    let detail = format!("nothing of the workspace of {branch} can be discarded: {why}");
    conflict("workspace_in_use", detail)
        .field("branch")
        .help("unmount it; a yard, with its `.branchyard`, is on one mount")
}

/// Some files of `target` were not written; what is there is neither the old tree nor the new.
pub(super) fn incomplete(target: &str, complaint: &str) -> Problem {
    let detail = format!("the workspace is only partly at {target}: {complaint}");
    Problem::new(ErrorKind::Conflict, "checkout_incomplete", detail)
        .help("ask again with `sync: auto`, which completes it and saves whatever else is there; if that fails too, see to what stands in the way")
}

/// Somebody else's git is at work in the workspace, or was killed there.
pub(super) fn locked(lock: &Path) -> Problem {
    let detail = format!("another git holds {}", lock.display());
    Problem::new(ErrorKind::Conflict, "index_locked", detail)
        .help("wait for it; if no git is at work there, remove the file")
}
