//! Time in which the daemon ran, in seconds: what idleness is counted in. It comes from the monotonic
//! clock and is kept on disk, so neither a clock that was set nor a week of downtime makes anything old.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::record::Record;
use crate::repos::Repos;
use branchyard_model::RepoName;

const FILE: &str = "ticks.json";
const VERSION: u32 = 1;

#[derive(Debug)]
pub struct Ticks {
    file: PathBuf,
    /// What earlier daemons counted.
    base: u64,
    started: Instant,
    /// When each repo was last seen to have a workspace in use. Without one it has no record of its own.
    stores: Mutex<BTreeMap<RepoName, u64>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct OnDisk {
    version: u32,
    ticks: u64,
    #[serde(default)]
    stores: BTreeMap<RepoName, u64>,
}

impl Ticks {
    /// Goes on counting from the file in `state`; if that is lost, from the latest use that any
    /// workspace remembers.
    pub fn open(state: &Path, repos: &Repos) -> Self {
        Self::from(state.join(FILE), || {
            let stores = repos.list();
            let records = stores.iter().flat_map(|repo| Record::all_of(repo));
            let uses = records.filter_map(|record| record.used_tick);
            uses.max().unwrap_or(0)
        })
    }

    fn from(file: PathBuf, latest_use: impl FnOnce() -> u64) -> Self {
        let known = load(&file).unwrap_or_else(|error| {
            if error.kind() != io::ErrorKind::NotFound {
                tracing::warn!(file = %file.display(), %error, "the count of idle time is lost; it goes on from the latest use");
            }
            OnDisk {
                version: VERSION,
                ticks: latest_use(),
                stores: BTreeMap::new(),
            }
        });
        Self {
            file,
            base: known.ticks,
            started: Instant::now(),
            stores: Mutex::new(known.stores),
        }
    }

    pub fn now(&self) -> u64 {
        self.base.saturating_add(self.started.elapsed().as_secs())
    }

    /// How long ago `used` is. What has no such mark, or one from the future, was used just now: the
    /// count may have lost its last minute, but nothing gets older by that.
    pub fn since(&self, used: Option<u64>) -> u64 {
        used.map_or(0, |used| self.now().saturating_sub(used))
    }

    /// Whether `used` says when.
    pub(super) fn is_known(&self, used: Option<u64>) -> bool {
        used.is_some_and(|used| used <= self.now())
    }

    /// How long a repo's store has lain idle, whose workspaces, if there are any, were last used at `used`.
    pub(super) fn store_idle(&self, repo: &RepoName, used: Option<u64>) -> u64 {
        let now = self.now();
        let mut stores = self.stores.lock();
        let mark = stores.entry(repo.clone()).or_insert(now);
        *mark = (*mark).max(used.unwrap_or(0)).min(now);
        now - *mark
    }

    pub(super) fn forget_store(&self, repo: &RepoName) {
        self.stores.lock().remove(repo);
    }

    /// Writes the count down, by rename.
    pub fn save(&self) -> io::Result<()> {
        let json = serde_json::to_vec(&OnDisk {
            version: VERSION,
            ticks: self.now(),
            stores: self.stores.lock().clone(),
        })?;
        let fresh = self.file.with_extension("new");
        fs::write(&fresh, json)?;
        fs::rename(&fresh, &self.file)
    }
}

fn load(file: &Path) -> io::Result<OnDisk> {
    let known: OnDisk = serde_json::from_slice(&fs::read(file)?)?;
    if known.version != VERSION {
        return Err(io::Error::other(format!("version {}", known.version)));
    }
    Ok(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_goes_on_where_it_was_however_long_nobody_counted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        fs::write(&file, r#"{"version":1,"ticks":1000}"#).unwrap();
        let ticks = Ticks::from(file.clone(), || panic!("the file is there"));
        // The test may take a second.
        assert!((1000..1010).contains(&ticks.now()));
        assert!((10..20).contains(&ticks.since(Some(990))));
        let repo = RepoName::parse("demo").unwrap();
        assert_eq!(ticks.store_idle(&repo, None), 0, "not seen before");
        ticks.save().unwrap();
        let again = Ticks::from(file, || panic!("the file is there"));
        assert!((1000..1020).contains(&again.now()));
        assert!(again.store_idle(&repo, None) < 20);
    }

    #[test]
    fn what_is_unknown_or_in_the_future_was_used_now() {
        let dir = tempfile::tempdir().unwrap();
        let ticks = Ticks::from(dir.path().join(FILE), || 500);
        for used in [None, Some(501 + 1000), Some(u64::MAX)] {
            assert_eq!(ticks.since(used), 0, "{used:?}");
            assert!(!ticks.is_known(used), "{used:?}");
        }
        assert!(ticks.is_known(Some(500)));
        let repo = RepoName::parse("demo").unwrap();
        assert_eq!(ticks.store_idle(&repo, Some(u64::MAX)), 0);
    }

    #[test]
    fn a_lost_or_foreign_file_starts_from_the_latest_use() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(FILE);
        for content in [
            None,
            Some(""),
            Some("{"),
            Some(r#"{"version":2,"ticks":9}"#),
        ] {
            if let Some(content) = content {
                fs::write(&file, content).unwrap();
            }
            let ticks = Ticks::from(file.clone(), || 77);
            assert!((77..87).contains(&ticks.now()), "{content:?}");
        }
    }
}
