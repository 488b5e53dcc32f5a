//! What the remote was last seen to have, and which slots of schedules are done with: a file for each repo, written when all
//! that is new has been started.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use branchyard_model::{CommitId, RepoName};
use branchyard_runtime::disk::{read_json, write_json};

/// A slot that is done with and lies further ahead is of a clock that was wrong.
const AHEAD: SignedDuration = SignedDuration::from_hours(8 * 24);

/// Where it is written down what was seen of a repo.
#[derive(Debug, Clone)]
pub(crate) struct SeenFile(PathBuf);

impl SeenFile {
    pub(crate) fn of(dir: &Path, repo: &RepoName) -> Self {
        Self(dir.join(format!("{}.json", repo.dir())))
    }

    /// None where nothing was seen yet.
    pub(crate) fn read(&self) -> io::Result<Option<SeenRefs>> {
        read_json(&self.0)
    }

    pub(crate) fn write(&self, seen: &SeenRefs) -> io::Result<()> {
        write_json(&self.0, seen)
    }
}

/// What was seen of one repo.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SeenRefs {
    /// Branches and tags, by full ref.
    refs: BTreeMap<String, SeenRef>,
    /// Pull requests for which something was started, by full ref.
    pulls: BTreeMap<String, SeenPull>,
    /// The latest slot of each schedule that is done with.
    schedules: BTreeMap<String, Timestamp>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct SeenRef {
    at: CommitId,
    /// How often it was seen to move: a ref that comes back to where it was has moved all the same.
    moves: u64,
}

/// A pull request as it was when something was started for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenPull {
    pub(crate) commit: CommitId,
    pub(crate) base: String,
    /// How often its commit was seen to be another.
    #[serde(default)]
    pub(crate) moves: u64,
}

/// A ref that is not where it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RefMove {
    pub(crate) git_ref: String,
    /// None of a ref that is new.
    pub(crate) before: Option<CommitId>,
    /// Of an annotated tag, the tag itself.
    pub(crate) after: CommitId,
    /// What sets it apart from other moves of the ref.
    pub(crate) nth: u64,
}

impl SeenRefs {
    /// What of the remote's refs is new, and forgets those that are gone. In order of their names.
    pub(crate) fn compare(&mut self, listing: &HashMap<String, CommitId>) -> Vec<RefMove> {
        self.refs.retain(|name, _| listing.contains_key(name));
        let mut moves: Vec<_> = listing
            .iter()
            .filter_map(|(name, at)| {
                let known = self.refs.get(name);
                let is_new = known.is_none_or(|known| known.at != *at);
                is_new.then(|| RefMove {
                    git_ref: name.clone(),
                    before: known.map(|known| known.at.clone()),
                    after: at.clone(),
                    nth: known.map_or(0, |known| known.moves + 1),
                })
            })
            .collect();
        moves.sort_by(|one, other| one.git_ref.cmp(&other.git_ref));
        moves
    }

    /// All that there is for this is started.
    pub(crate) fn settle(&mut self, done: RefMove) {
        let seen = SeenRef {
            at: done.after,
            moves: done.nth,
        };
        self.refs.insert(done.git_ref, seen);
    }

    pub(crate) fn pull(&self, git_ref: &str) -> Option<&SeenPull> {
        self.pulls.get(git_ref)
    }

    pub(crate) fn settle_pull(&mut self, git_ref: &str, pull: SeenPull) {
        self.pulls.insert(git_ref.to_owned(), pull);
    }

    pub(crate) fn forget_pull(&mut self, git_ref: &str) {
        self.pulls.remove(git_ref);
    }

    /// Until when a schedule is done with; one that was never seen begins now, and so does one that a clock far ahead was
    /// asked for.
    pub(crate) fn slot(&mut self, schedule: &str, now: Timestamp) -> Timestamp {
        let done = self.schedules.entry(schedule.to_owned()).or_insert(now);
        if *done > now.saturating_add(AHEAD).unwrap_or(Timestamp::MAX) {
            *done = now;
        }
        *done
    }

    pub(crate) fn settle_slot(&mut self, schedule: &str, slot: Timestamp) {
        self.schedules.insert(schedule.to_owned(), slot);
    }

    /// Forgets the schedules that there are no more.
    pub(crate) fn keep_schedules(&mut self, is_there: impl Fn(&str) -> bool) {
        self.schedules.retain(|schedule, _| is_there(schedule));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(digit: char) -> CommitId {
        CommitId::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn listing(refs: &[(&str, char)]) -> HashMap<String, CommitId> {
        let refs = refs.iter();
        refs.map(|(name, digit)| ((*name).to_owned(), commit(*digit)))
            .collect()
    }

    #[test]
    fn a_move_is_new_until_it_is_settled_and_again_when_it_comes_back() {
        let mut seen = SeenRefs::default();
        let there = listing(&[("refs/heads/main", 'a'), ("refs/tags/v1", 'b')]);
        let moves = seen.compare(&there);
        let names: Vec<_> = moves.iter().map(|it| it.git_ref.as_str()).collect();
        assert_eq!(names, ["refs/heads/main", "refs/tags/v1"]);
        assert_eq!(seen.compare(&there), moves);
        for done in moves {
            seen.settle(done);
        }
        assert_eq!(seen.compare(&there), []);
        let mut keys = Vec::new();
        for digit in ['c', 'a', 'c'] {
            let moves = seen.compare(&listing(&[
                ("refs/heads/main", digit),
                ("refs/tags/v1", 'b'),
            ]));
            let [only] = moves.as_slice() else {
                panic!("{moves:?}");
            };
            keys.push((only.before.clone(), only.after.clone(), only.nth));
            seen.settle(only.clone());
        }
        assert_ne!(keys[0], keys[2]);
        assert_eq!(keys[0].0, Some(commit('a')));
        assert_eq!(seen.compare(&listing(&[])), []);
        assert_eq!(seen.compare(&there).len(), 2, "what was gone is new");
    }

    #[test]
    fn a_slot_far_ahead_is_of_a_wrong_clock_and_begins_anew() {
        let now: Timestamp = "2026-11-19T12:30:00Z".parse().unwrap();
        let mut seen = SeenRefs::default();
        assert_eq!(seen.slot("nightly", now), now);
        let day_ahead = "2026-11-20T12:00:00Z".parse().unwrap();
        seen.settle_slot("nightly", day_ahead);
        assert_eq!(seen.slot("nightly", now), day_ahead);
        seen.settle_slot("nightly", "2099-01-01T00:00:00Z".parse().unwrap());
        assert_eq!(seen.slot("nightly", now), now);
        let later = now + SignedDuration::from_hours(1);
        assert_eq!(seen.slot("nightly", later), now);
    }

    #[test]
    fn what_was_seen_is_the_same_after_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let file = SeenFile::of(dir.path(), &RepoName::parse("Demo").unwrap());
        assert!(file.read().unwrap().is_none());
        let mut seen = SeenRefs::default();
        for done in seen.compare(&listing(&[("refs/heads/main", 'a')])) {
            seen.settle(done);
        }
        seen.settle_slot("ci.yml|0 3 * * *|", Timestamp::UNIX_EPOCH);
        seen.settle_pull(
            "refs/pull/7/head",
            SeenPull {
                commit: commit('d'),
                base: "main".to_owned(),
                moves: 0,
            },
        );
        file.write(&seen).unwrap();
        assert_eq!(file.read().unwrap(), Some(seen));
    }
}
