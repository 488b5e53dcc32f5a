//! What the remote said.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use lru::LruCache;
use parking_lot::Mutex;

use branchyard_git as git;
use branchyard_model::{BranchName, CommitId, ErrorKind, NamedRef, Problem};

/// Answers of the remote that are kept to be reused; the oldest go first.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1024).expect("not zero");

/// What the remote said about one branch.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The branch's commit; `None` if the remote has no such branch.
    pub head: Option<CommitId>,
    pub at: Timestamp,
    pub(super) kind: HeadKind,
    pub(super) began: Instant,
}

/// What the remote has under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeadKind {
    Branch,
    /// A tag, a request or a commit.
    Named,
    /// Both.
    Ambiguous,
}

impl Asked {
    /// The tag, request or commit that `branch` stands for there.
    pub fn named(&self, branch: &BranchName) -> Option<NamedRef> {
        let is_named = self.kind == HeadKind::Named;
        NamedRef::of(branch).filter(|_| is_named)
    }

    /// Where a name stands for two, neither is taken for the other.
    pub(super) fn for_one(self, branch: &BranchName) -> Result<Self, Problem> {
        if self.kind != HeadKind::Ambiguous {
            return Ok(self);
        }
        let other = NamedRef::of(branch).map_or_else(String::new, |named| named.full().to_owned());
        let detail = format!(
            "the remote has both {} and {other}: which is {branch}?",
            branch.local_ref()
        );
        Err(Problem::new(ErrorKind::Conflict, "ambiguous_ref", detail)
            .field("branch")
            .help("rename the branch"))
    }
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

/// All branches of the remote, as it said lately.
pub(super) type RememberedListing = Mutex<Option<(Instant, Arc<BTreeMap<BranchName, CommitId>>)>>;

/// The answers to all who asked together.
pub(super) type Answers = Arc<Vec<(BranchName, Asked)>>;

/// The branches of a fetch that could not be had, and why.
pub(super) type Failures = Arc<Vec<(BranchName, Arc<git::Error>)>>;
