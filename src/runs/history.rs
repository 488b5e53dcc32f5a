//! Runs on disk: a directory each, with the record (written by rename) and the journal.

use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lru::LruCache;

use crate::model::{BranchName, RepoName, RunId, RunKind, RunRecord};

const RECORD: &str = "run.json";
/// Ended runs never change, so those looked at lately need not be read again.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(512).expect("not zero");

#[derive(Debug)]
pub(super) struct History {
    dir: PathBuf,
    tmp: PathBuf,
    ended: Mutex<LruCache<RunId, RunRecord>>,
}

/// Which runs to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    pub repo: Option<RepoName>,
    pub branch: Option<BranchName>,
    pub kind: Option<RunKind>,
    pub state: Option<String>,
    /// Only runs before this one, newest first.
    pub before: Option<RunId>,
}

impl Filter {
    pub(super) fn accepts(&self, run: &RunRecord) -> bool {
        self.repo.as_ref().is_none_or(|repo| *repo == run.spec.repo)
            && self
                .branch
                .as_ref()
                .is_none_or(|branch| *branch == run.spec.branch)
            && self.kind.is_none_or(|kind| kind == run.spec.kind)
            && self
                .state
                .as_ref()
                .is_none_or(|state| state == run.state.as_str())
    }
}

impl History {
    /// The runs in `<state>/runs`.
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let dir = state.join("runs");
        fs::create_dir_all(&dir)?;
        Ok(Self {
            dir,
            tmp: state.join("tmp"),
            ended: Mutex::new(LruCache::new(REMEMBERED)),
        })
    }

    pub(super) fn journal(&self, run: RunId) -> PathBuf {
        self.home(run).join("journal")
    }

    /// A directory for the command's temporary files; goes when the run ends. Its path is short, for
    /// a socket's address in it has a hundred bytes in all.
    pub(super) fn tmp(&self, run: RunId) -> PathBuf {
        self.tmp.join(run.short())
    }

    /// Makes the run's directory with its first record.
    pub(super) fn create(&self, record: &RunRecord) -> io::Result<()> {
        fs::create_dir(self.home(record.run_id))?;
        self.save(record)
    }

    pub(super) fn save(&self, record: &RunRecord) -> io::Result<()> {
        let home = self.home(record.run_id);
        let fresh = home.join("run.json.new");
        fs::write(&fresh, serde_json::to_vec(record)?)?;
        fs::rename(&fresh, home.join(RECORD))
    }

    pub(super) fn load(&self, run: RunId) -> Option<RunRecord> {
        if let Some(record) = self.remembered().get(&run) {
            return Some(record.clone());
        }
        let record = read(&self.home(run))?;
        if record.state.is_ended() {
            self.remembered().put(run, record.clone());
        }
        Some(record)
    }

    fn remembered(&self) -> MutexGuard<'_, LruCache<RunId, RunRecord>> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All run ids, newest first.
    pub(super) fn ids(&self) -> Vec<RunId> {
        let mut ids: Vec<_> = fs::read_dir(&self.dir)
            .into_iter()
            .flatten()
            .filter_map(|entry| RunId::parse(entry.ok()?.file_name().to_str()?).ok())
            .collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    fn home(&self, run: RunId) -> PathBuf {
        self.dir.join(run.to_string())
    }
}

fn read(home: &Path) -> Option<RunRecord> {
    serde_json::from_slice(&fs::read(home.join(RECORD)).ok()?).ok()
}
