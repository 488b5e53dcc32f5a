//! What the remote said.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use lru::LruCache;
use parking_lot::Mutex;

use branchyard_git as git;
use branchyard_model::{BranchName, CommitId};

/// Answers of the remote that are kept to be reused; the oldest go first.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");

/// What the remote said about one branch.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The branch's commit; `None` if the remote has no such branch.
    pub head: Option<CommitId>,
    pub at: Timestamp,
    pub(super) began: Instant,
}

/// What the remote said lately.
#[derive(Debug)]
pub(super) struct RememberedAnswers(Mutex<LruCache<BranchName, Asked>>);

impl Default for RememberedAnswers {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(REMEMBERED)))
    }
}

impl RememberedAnswers {
    pub(super) fn of(&self, branch: &BranchName) -> Option<Asked> {
        self.0.lock().get(branch).cloned()
    }

    pub(super) fn remember(&self, answers: &[(BranchName, Asked)]) {
        let mut remembered = self.0.lock();
        for (branch, asked) in answers {
            remembered.put(branch.clone(), asked.clone());
        }
    }
}

/// All branches of the remote, by full ref, as it said lately.
pub(super) type RememberedListing = Mutex<Option<(Instant, Arc<HashMap<String, CommitId>>)>>;

/// The answers to all who asked together.
pub(super) type Answers = Arc<Vec<(BranchName, Asked)>>;

/// The branches of a fetch that could not be had, and why.
pub(super) type Failures = Arc<Vec<(BranchName, Arc<git::Error>)>>;
