//! Pull requests that a forge told of and that were not looked at yet. They are on disk before the forge is answered: it will
//! not tell again.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use branchyard_model::{ErrorKind, NamedRef, Problem, RepoName};
use branchyard_runtime::disk::{read_json, write_json};

/// For so long after it was told of a request is looked at that leads to nothing new.
const SETTLES: SignedDuration = SignedDuration::from_secs(60);
/// Beyond these a forge is told to come back later.
const MOST: usize = 1000;

/// What a forge said of a pull or merge request. Only its ref, its title and where it is to go are taken from that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullHint {
    pub number: u64,
    pub title: String,
    /// The branch that it is for.
    pub base: String,
    /// The branch that it comes from, which may be one of a fork.
    pub head: String,
}

impl HeardPull {
    fn has_settled(&self, now: Timestamp) -> bool {
        now.duration_since(self.heard_at).abs() >= SETTLES
    }
}

/// Hints by the full ref of the request; a newer one takes the place of an older.
#[derive(Debug)]
pub(crate) struct PullHints {
    file: PathBuf,
    hints: Mutex<BTreeMap<String, HeardPull>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct HeardPull {
    hint: PullHint,
    heard_at: Timestamp,
}

impl PullHints {
    pub(crate) fn open(dir: &Path, repo: &RepoName) -> Self {
        let file = dir.join("pulls").join(format!("{}.json", repo.dir()));
        let hints = read_json(&file).unwrap_or_else(|error: io::Error| {
            tracing::warn!(%repo, %error, "which pull requests are to be looked at cannot be read");
            None
        });
        let hints = Mutex::new(hints.unwrap_or_default());
        Self { file, hints }
    }

    pub(crate) fn add(&self, named: &NamedRef, hint: PullHint) -> Result<(), Problem> {
        let mut hints = self.hints.lock();
        let heard_at = Timestamp::now();
        let known = hints.get(named.full());
        if known.is_some_and(|known| known.hint == hint && !known.has_settled(heard_at)) {
            return Ok(());
        }
        if hints.len() >= MOST && !hints.contains_key(named.full()) {
            let detail = format!("{MOST} pull requests are waiting to be looked at");
            let problem = Problem::new(ErrorKind::Unavailable, "too_many_pulls", detail);
            return Err(problem.retry_after(60));
        }
        let mut with = hints.clone();
        with.insert(named.full().to_owned(), HeardPull { hint, heard_at });
        write_json(&self.file, &with).map_err(|error| {
            let detail = "the pull request could not be written down";
            Problem::unwritten("hook_not_recorded", detail, &error)
        })?;
        *hints = with;
        Ok(())
    }

    pub(crate) fn all(&self) -> BTreeMap<String, PullHint> {
        let hints = self.hints.lock();
        let hints = hints.iter();
        hints
            .map(|(git_ref, heard)| (git_ref.clone(), heard.hint.clone()))
            .collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.hints.lock().is_empty()
    }

    /// Forgets a hint that was followed, unless there is a newer one. One that started nothing is kept for a while: a forge
    /// may tell of a request before its ref says so.
    pub(crate) fn settle(&self, (git_ref, followed): (&str, &PullHint), has_started: bool) {
        let (mut hints, now) = (self.hints.lock(), Timestamp::now());
        let is_done =
            |heard: &HeardPull| heard.hint == *followed && (has_started || heard.has_settled(now));
        if hints.get(git_ref).is_some_and(is_done) {
            hints.remove(git_ref);
            if let Err(error) = write_json(&self.file, &*hints) {
                // The next daemon looks at it again, and finds that nothing is new.
                tracing::warn!(%error, "which pull requests are to be looked at is not written down");
            }
        }
    }
}
