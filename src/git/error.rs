//! What can go wrong with a repository.

use crate::disk::Shortage;
use crate::model::{ErrorKind, Problem};
use crate::process::CaptureError;

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
    },
    #[error("the remote did not answer git {verb} for {}", humantime::format_duration(*.after))]
    RemoteTimedOut {
        verb: String,
        after: std::time::Duration,
    },
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

    /// Whether it was the remote that failed, so that a caller who allows `stale` may go on.
    pub fn is_remote(&self) -> bool {
        matches!(self, Self::Remote { .. } | Self::RemoteTimedOut { .. })
    }

    /// Whether there was no room for what was to be written.
    pub fn is_disk_full(&self) -> bool {
        self.problem().kind == ErrorKind::StorageFull
    }

    pub fn problem(&self) -> Problem {
        match self {
            Self::DiskFull { .. } => {
                Problem::new(ErrorKind::StorageFull, "disk_full", self.to_string())
            }
            Self::Io { what, source } => {
                Problem::unwritten("git_failed", &format!("failed to {what}"), source)
            }
            Self::Remote { .. } => Problem::new(ErrorKind::Upstream, "remote_failed", self.to_string())
                .help("check the repository's URL and the daemon's access to it; `stale: true` builds what is already here"),
            Self::RemoteTimedOut { .. } => {
                Problem::new(ErrorKind::UpstreamTimeout, "remote_timed_out", self.to_string())
                    .help("try again; `stale: true` builds what is already here")
            }
            Self::Unborn => Problem::new(ErrorKind::Conflict, "drifted", self.to_string())
                .field("branch")
                .help("check out the workspace's own branch there"),
            _ => Problem::new(ErrorKind::Internal, "git_failed", self.to_string()),
        }
    }
}
