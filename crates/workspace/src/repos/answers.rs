//! What the remote said.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use lru::LruCache;

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
        self.lock().get(branch).cloned()
    }

    pub(super) fn remember(&self, answers: &[(BranchName, Asked)]) {
        let mut remembered = self.lock();
        for (branch, asked) in answers {
            remembered.put(branch.clone(), asked.clone());
        }
    }

    fn lock(&self) -> MutexGuard<'_, LruCache<BranchName, Asked>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All branches of the remote, by full ref, as it said lately.
#[derive(Debug, Default)]
pub(super) struct RememberedListing(Mutex<Option<(Instant, Listing)>>);

/// By full ref.
pub(super) type Listing = Arc<HashMap<String, CommitId>>;

impl RememberedListing {
    /// If it is younger than this.
    pub(super) fn younger_than(&self, age: Duration) -> Option<Listing> {
        let remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, listing) = remembered.as_ref()?;
        (at.elapsed() < age).then(|| listing.clone())
    }

    pub(super) fn remember(&self, at: Instant, listing: &Listing) {
        let mut remembered = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *remembered = Some((at, listing.clone()));
    }
}

/// The answers to all who asked together.
pub(super) type Answers = Arc<Vec<(BranchName, Asked)>>;

/// The branches of a fetch that could not be had, and why.
pub(super) type Failures = Arc<Vec<(BranchName, Arc<git::Error>)>>;
