//! What the remote said.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;

use branchyard_git as git;
use branchyard_model::{BranchName, CommitId};

/// Answers of the remote that are kept to be reused; the oldest go first.
pub(super) const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");

/// What the remote said about one branch.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The branch's commit; `None` if the remote has no such branch.
    pub head: Option<CommitId>,
    pub at: Timestamp,
    pub(super) began: Instant,
}

/// The answers to all who asked together.
pub(super) type Answers = Arc<Vec<(BranchName, Asked)>>;

/// The branches of a fetch that could not be had, and why.
pub(super) type Failures = Arc<Vec<(BranchName, Arc<git::Error>)>>;
