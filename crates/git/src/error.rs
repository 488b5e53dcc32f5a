//! What can go wrong with a repository.

use std::sync::Arc;

use super::RemoteFailure;
use branchyard_model::{ErrorKind, Problem};
use branchyard_process::CaptureError;
use branchyard_runtime::disk::Shortage;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Command(#[from] CaptureError),
    /// A git command said no. Its words are kept as they are.
    #[error("git {verb} failed ({status}): {stderr}")]
    Refused {
        verb: String,
        status: String,
        code: Option<i32>,
        stderr: String,
    },
    /// A command that talks to the remote said no.
    #[error("the remote could not be asked: git {verb} failed ({status}): {stderr}")]
    Remote {
        verb: String,
        status: String,
        stderr: String,
        failure: RemoteFailure,
        /// The setting whose credential was used, if one was.
        credential: Option<Arc<str>>,
    },
    #[error("the remote did not answer git {verb} for {}", humantime::format_duration(*.after))]
    RemoteTimedOut {
        verb: String,
        after: std::time::Duration,
    },
    /// The credential for the remote could not be read, so it was not asked.
    #[error("the credential of {setting} cannot be used: {why}")]
    Credential { setting: Arc<str>, why: String },
    /// A git command failed, and the disk that it writes to is full.
    #[error("git {verb} failed ({status}): {stderr}; {shortage}")]
    DiskFull {
        verb: String,
        status: String,
        stderr: String,
        shortage: Box<Shortage>,
    },
    #[error("the workspace was moved by hand to a branch without a commit")]
    Unborn,
    /// What the caller asked for is not to be had here.
    #[error(transparent)]
    Asked(#[from] Problem),
    #[error("failed to read the repository: {0}")]
    Read(#[from] git2::Error),
    #[error("failed to {what}: {source}")]
    Io {
        what: String,
        source: std::io::Error,
    },
    #[error("a blocking task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}

impl Error {
    pub fn io(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }

    /// The remote answered as if it had lost every branch.
    pub fn nothing_listed() -> Self {
        Self::Remote {
            verb: "ls-remote".to_owned(),
            status: "no branch is listed".to_owned(),
            stderr: "there were branches before; what answers there is no git repository, or all of them were deleted"
                .to_owned(),
            failure: RemoteFailure::NotFound,
            credential: None,
        }
    }

    /// Whether it was the remote that failed, so that a caller who allows `stale` may go on.
    pub fn is_remote(&self) -> bool {
        self.failure().is_some() || matches!(self, Self::Credential { .. })
    }

    /// In which way the remote failed, if it was the remote.
    pub fn failure(&self) -> Option<RemoteFailure> {
        match self {
            Self::Remote { failure, .. } => Some(*failure),
            Self::RemoteTimedOut { .. } => Some(RemoteFailure::Timeout),
            _ => None,
        }
    }

    /// Whether there was no room for what was to be written.
    pub fn is_disk_full(&self) -> bool {
        self.problem().kind == ErrorKind::StorageFull
    }

    pub fn problem(&self) -> Problem {
        match self {
            Self::Asked(problem) => problem.clone(),
            Self::DiskFull { .. } => disk_full(self.to_string()),
            Self::Read(error) if tells_of_full(error.message()) => disk_full(self.to_string()),
            Self::Io { what, source } => {
                Problem::unwritten("git_failed", &format!("failed to {what}"), source)
            }
            Self::Remote {
                failure,
                credential,
                ..
            } => failure.problem(self.to_string(), credential.as_deref()),
            Self::RemoteTimedOut { .. } => RemoteFailure::Timeout.problem(self.to_string(), None),
            Self::Credential { .. } => {
                Problem::new(ErrorKind::Upstream, "credential_unreadable", self.to_string())
                    .help("mend it on the daemon's machine, it is read anew each time; `stale: true` builds what is already here")
            }
            Self::Unborn => Problem::new(ErrorKind::Conflict, "drifted", self.to_string())
                .field("branch")
                .help("check out the workspace's own branch there"),
            // Nothing is wrong with it: git reads what libgit2 does not.
            Self::Read(error) if is_foreign_index(error) => {
                Problem::new(ErrorKind::Conflict, "index_format", self.to_string())
                    .field("branch")
                    .help("`git update-index --no-split-index` or `git sparse-checkout disable` in the workspace brings its index to the usual form")
            }
            Self::Read(error) if is_malformed(error) => malformed(self.to_string()),
            Self::Refused { stderr, .. } if tells_of_malformed(stderr) => {
                malformed(self.to_string())
            }
            _ => Problem::new(ErrorKind::Internal, "git_failed", self.to_string()),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        error.problem()
    }
}

fn disk_full(detail: String) -> Problem {
    Problem::new(ErrorKind::StorageFull, "disk_full", detail)
}

/// libgit2 has no code for it, only the system's words. By the time that anyone looks there may be room again: what was
/// being written is gone.
fn tells_of_full(message: &str) -> bool {
    let words = ["No space left on device", "Disk quota exceeded"];
    words.iter().any(|words| message.contains(words))
}

/// An object that was pushed like this: nothing is wrong with the store.
fn malformed(detail: String) -> Problem {
    Problem::new(ErrorKind::Conflict, "malformed_object", detail)
        .help("the history holds an object that git does not accept; `git fsck` in a clone names it, and a branch without it can be used")
}

fn is_malformed(error: &git2::Error) -> bool {
    use git2::{ErrorClass, ErrorCode};
    let is_of_object = matches!(
        error.class(),
        ErrorClass::Tree | ErrorClass::Object | ErrorClass::Tag
    );
    let is_path = error.class() == ErrorClass::Index && error.message().starts_with("invalid path");
    let is_judgement = matches!(
        error.code(),
        ErrorCode::GenericError | ErrorCode::Invalid | ErrorCode::InvalidSpec
    );
    (is_of_object || is_path) && is_judgement
}

/// Git's words for a tree that it does not check out.
fn tells_of_malformed(stderr: &str) -> bool {
    let words = [
        "invalid path",
        "too-short tree",
        "malformed mode in tree",
        "empty filename in tree",
        "corrupt tree",
    ];
    let stderr = stderr.to_lowercase();
    words.iter().any(|word| stderr.contains(word))
}

/// A split or a sparse index.
fn is_foreign_index(error: &git2::Error) -> bool {
    error.class() == git2::ErrorClass::Index && error.message().contains("mandatory extension")
}
