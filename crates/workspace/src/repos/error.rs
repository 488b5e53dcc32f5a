//! Why a repository cannot be had.

use std::path::PathBuf;
use std::sync::Arc;

use branchyard_git::{self as git, RemoteFailure};
use branchyard_model::{ErrorKind, Problem};

/// Shared by all who waited for the same work, so it is cheap to clone.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RepoError {
    #[error(transparent)]
    Git(Arc<git::Error>),
    /// Refused, with everything that the caller needs to mend it.
    #[error(transparent)]
    Refused(#[from] Problem),
    #[error("failed to {what}: {source}")]
    Io {
        what: &'static str,
        source: Arc<std::io::Error>,
    },
    /// Of the remote of a submodule, at this path.
    #[error("the submodule {}: {error}", path.display())]
    Submodule {
        path: PathBuf,
        error: Arc<RepoError>,
    },
    #[error("the work that was waited for ended without an answer")]
    Abandoned,
}

impl RepoError {
    pub(super) fn io(what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            what,
            source: Arc::new(source),
        }
    }

    pub fn is_remote(&self) -> bool {
        match self {
            Self::Git(error) => error.is_remote(),
            Self::Submodule { error, .. } => error.is_remote(),
            Self::Refused(_) | Self::Io { .. } | Self::Abandoned => false,
        }
    }

    /// In which way the remote failed, if it was the remote.
    pub fn failure(&self) -> Option<RemoteFailure> {
        match self {
            Self::Git(error) => error.failure(),
            Self::Submodule { error, .. } => error.failure(),
            Self::Refused(_) | Self::Io { .. } | Self::Abandoned => None,
        }
    }

    pub fn problem(&self) -> Problem {
        match self {
            Self::Git(error) => error.problem(),
            Self::Refused(problem) => problem.clone(),
            Self::Submodule { path, error } => {
                let mut problem = error.problem();
                problem.detail = format!("the submodule {}: {}", path.display(), problem.detail);
                problem
            }
            Self::Io { what, source } => {
                Problem::unwritten("repository_failed", &format!("failed to {what}"), source)
            }
            Self::Abandoned => {
                Problem::new(ErrorKind::Internal, "repository_failed", self.to_string())
            }
        }
    }
}

impl From<RepoError> for Problem {
    fn from(error: RepoError) -> Self {
        error.problem()
    }
}

impl From<git::Error> for RepoError {
    fn from(error: git::Error) -> Self {
        Self::Git(Arc::new(error))
    }
}
