//! Runs on disk: a directory each, with the record (written by rename) and the journal. The database
//! beside them is an index, brought to what is on disk whenever a daemon starts.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use lru::LruCache;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::checks::Checks;
use super::idempotency;
use super::reuse::ReuseKey;
use super::written::Written;
use branchyard_db::run_index::{self, Condition, Retention, RunIndex, TestIndex, TestedRun};
use branchyard_journal::diagnostics::{Collector, Diagnostics, Directories};
use branchyard_journal::{self as journal, Output};
use branchyard_model::{
    BranchName, DiagnosticsSummary, Idempotency, RepoName, RunId, RunRecord, RunSpec, TestReport,
};
use branchyard_process::Supervisor;
use branchyard_runtime::background::Loops;
use branchyard_runtime::disk::{
    DiskGuard, Trash, create_private_dir, make_private, read_json, write_json,
};

const RECORD: &str = "run.json";
const DIAGNOSTICS: &str = "diagnostics.json";
const TESTS: &str = "tests.json";
/// A record that could not be read.
const UNREAD: &str = "run.json.unread";
const ASKED: &str = "request.json";
/// Ended runs never change, so those looked at lately need not be read again.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(512).expect("not zero");

#[derive(Debug)]
pub(super) struct History {
    dir: PathBuf,
    tmp: PathBuf,
    trash: Trash,
    store: RunIndex,
    test_index: TestIndex,
    ended: Mutex<LruCache<RunId, RunRecord>>,
}

/// What a run was asked for with, beyond what its record shows: to go on with it after a restart, or
/// to do it again.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Asked {
    #[serde(flatten)]
    pub(super) written: Written,
    pub(super) checks: Checks,
    /// What the run is, should its record be lost; without the values of variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) spec: Option<RunSpec>,
    /// The principal by whose limits it counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) account: Option<String>,
    /// The variables that the caller set, once the run has ended: their values are digests under this yard's key, and
    /// the request has none of them any more.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) dropped_env: BTreeMap<String, String>,
    /// Whether it was given an input, which the request has no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) dropped_stdin: bool,
}

impl History {
    /// The runs in `<state>/runs`. What is on disk is the truth; the index is brought to it. Returns also the runs that
    /// have not ended or whose end may not have been told, oldest first, and the old ones that the index lacks, for
    /// [`History::index_the_rest`].
    pub(super) fn open(
        margin: &DiskGuard,
        trash: Trash,
        loops: &Loops,
    ) -> io::Result<(Self, Vec<RunRecord>, Vec<RunId>)> {
        let (state, reserve) = (margin.state(), margin.clone());
        let dir = state.join("runs");
        fs::create_dir_all(&dir)?;
        let (store, found) =
            RunIndex::open(&state.join("yard.db"), loops, move || reserve.make_room())
                .map_err(io::Error::other)?;
        match found {
            Condition::Sound => {}
            Condition::Fresh => tracing::info!("the index of runs is made anew"),
            Condition::Damaged { aside, why } => {
                tracing::error!(aside = %aside.display(), why, "the index of runs was damaged; it is made anew");
            }
        }
        let history = Self {
            dir,
            tmp: state.join("tmp"),
            trash,
            test_index: store.tests(),
            store,
            ended: Mutex::new(LruCache::new(REMEMBERED)),
        };
        let later = history.reconcile().map_err(io::Error::other)?;
        let unended = history.store.unended().map_err(io::Error::other)?;
        let mut unended: Vec<_> = unended
            .into_iter()
            .filter_map(|id| history.load(id).or_else(|| history.mend_record(id)))
            .collect();
        unended.sort_by_key(|record| record.run_id);
        // A daemon that was killed may have known more of them than it had told the index.
        for record in &unended {
            history.note(record);
        }
        history.store.catch_up();
        Ok((history, unended, later))
    }

    pub(super) fn journal(&self, run: RunId) -> PathBuf {
        self.home(run).join("journal")
    }

    /// A directory for the command's temporary files; goes when the run ends. Its path is short, for
    /// a socket's address in it has a hundred bytes in all.
    pub(super) fn tmp(&self, run: RunId) -> PathBuf {
        self.tmp.join(run.short())
    }

    /// Makes the run's directory. It counts as a run from its first record on.
    pub(super) fn create(&self, run: RunId, asked: &Asked) -> io::Result<()> {
        let home = self.home(run);
        create_private_dir(&home)?;
        write_json(&home.join(ASKED), asked).inspect_err(|_| self.discard(run))
    }

    /// Drops the values that the caller of an ended run put into its environment, and its input.
    pub(super) fn drop_env(&self, run: RunId, key: &ReuseKey) -> io::Result<()> {
        let Some(mut asked) = self.asked(run) else {
            return Ok(());
        };
        let stdin = asked.written.request.stdin.take();
        if asked.written.request.env.is_empty() && stdin.is_none() {
            return Ok(());
        }
        asked.dropped_stdin |= stdin.is_some();
        for (name, value) in std::mem::take(&mut asked.written.request.env) {
            let digest = key.digest(format!("env\0{name}\0{value}").as_bytes());
            asked.dropped_env.insert(name, digest);
        }
        write_json(&self.home(run).join(ASKED), &asked)
    }

    /// Closes to other users what a daemon of an earlier version left open to them, and drops the values that it kept
    /// of runs that have ended. Ends early once `is_over`. Blocks.
    pub(super) fn close_to_others(&self, key: &ReuseKey, is_over: impl Fn() -> bool) {
        for run in self.ids() {
            if is_over() {
                return;
            }
            let closed = make_private(&self.home(run), &[ASKED, RECORD]).and_then(|was_open| {
                let has_ended = || self.load(run).is_some_and(|record| record.state.is_ended());
                match was_open && has_ended() {
                    true => self.drop_env(run, key),
                    false => Ok(()),
                }
            });
            if let Err(error) = closed {
                tracing::warn!(%run, %error, "a run's directory is not closed to other users");
            }
        }
    }

    pub(super) fn asked(&self, run: RunId) -> Option<Asked> {
        read_json(&self.home(run).join(ASKED)).ok()?
    }

    pub(super) fn save(&self, record: &RunRecord) -> io::Result<()> {
        let home = self.home(record.run_id);
        write_json(&home.join(RECORD), record)?;
        // Where this is the end, it is still to be told.
        self.store
            .put_unsettled(&indexed(record), self.log_bytes(record));
        Ok(())
    }

    /// Brings the index up to date with a run. One that has ended is settled by that.
    pub(super) fn note(&self, record: &RunRecord) {
        self.store.put(&indexed(record), self.log_bytes(record));
    }

    fn log_bytes(&self, record: &RunRecord) -> u64 {
        let home = self.home(record.run_id);
        let size = |name| fs::metadata(home.join(name)).map_or(0, |meta| meta.len());
        size("journal") + size("journal.zst") + size(ASKED)
    }

    /// Idempotency keys that still count.
    pub(super) fn keys(&self) -> io::Result<Vec<(String, Idempotency, RunId)>> {
        self.store
            .keys_since(idempotency::horizon())
            .map_err(io::Error::other)
    }

    /// Pulls the errors and warnings out of a run's output and keeps them beside it, if there are any. Paths are told
    /// relative to the workspace, where that is known. Of a command that was stopped only what it said before counts;
    /// `stopped_at` is how long its journal was then, where that is known.
    pub(super) fn diagnose(
        &self,
        run: RunId,
        workspace: Option<&Path>,
        is_stopped: bool,
        stopped_at: Option<u64>,
    ) -> io::Result<Option<DiagnosticsSummary>> {
        let directories = workspace.map(Directories::of).unwrap_or_default();
        let mut collector = Collector::new(directories);
        let path = self.journal(run);
        let whole = journal::length(&path)?;
        let end = stopped_at.filter(|at| is_stopped && *at < whole);
        let mut output = Output::open(&path, end.unwrap_or(whole))?;
        output.each_line(|number, line| collector.line(number, line))?;
        let found = collector.finish(is_stopped);
        if found.items.is_empty() {
            return Ok(None);
        }
        write_json(&self.home(run).join(DIAGNOSTICS), &found)?;
        Ok(Some(found.summary))
    }

    /// What [`History::diagnose`] found; `None` where that was nothing.
    pub(super) fn diagnostics(&self, run: RunId) -> io::Result<Option<Diagnostics>> {
        read_json(&self.home(run).join(DIAGNOSTICS))
    }

    /// The output of a run, from its first line.
    pub(super) fn output(&self, run: RunId) -> io::Result<Output> {
        let path = self.journal(run);
        let whole = journal::length(&path)?;
        Output::open(&path, whole)
    }

    /// Keeps the tests of a run beside its output.
    pub(super) fn keep_tests(&self, run: RunId, report: &TestReport) -> io::Result<()> {
        write_json(&self.home(run).join(TESTS), report)
    }

    /// The tests of a run; `None` where they are not known.
    pub(super) fn tests(&self, run: RunId) -> io::Result<Option<TestReport>> {
        read_json(&self.home(run).join(TESTS))
    }

    /// Runs of a branch whose tests are known and that are older than `before`, newest first.
    pub(super) fn tested(
        &self,
        of: (&RepoName, &BranchName),
        before: RunId,
        limit: usize,
    ) -> Result<Vec<TestedRun>, run_index::Error> {
        self.store.tested(of, before, limit)
    }

    /// Compresses the journal of a run whose end was told: there is nothing left to do about it then.
    pub(super) fn pack(&self, run: RunId) -> io::Result<()> {
        journal::pack(&self.journal(run))?;
        if let Some(record) = self.load(run) {
            self.note(&record);
        }
        Ok(())
    }

    /// Lets go of what is beyond `retention`, oldest first.
    pub(super) fn expire(
        &self,
        retention: &Retention,
        now: Timestamp,
    ) -> Result<Vec<RunId>, run_index::Error> {
        let beyond = self.store.beyond(retention, now)?;
        // The index first: what is on disk alone is found again, what is in it alone is a lie.
        self.store.remove(&beyond);
        for run in &beyond {
            self.test_index.remove_run(*run);
            self.ended.lock().pop(run);
            self.discard(*run);
        }
        Ok(beyond)
    }

    pub(super) fn discard(&self, run: RunId) {
        if let Err(error) = self.trash.take(&self.home(run), &"run") {
            tracing::warn!(%run, %error, "failed to remove a run");
        }
    }

    pub(super) fn load(&self, run: RunId) -> Option<RunRecord> {
        if let Some(record) = self.ended.lock().get(&run) {
            return Some(record.clone());
        }
        let record = read(&self.home(run)).ok()??;
        if record.state.is_ended() {
            self.ended.lock().put(run, record.clone());
        }
        Some(record)
    }

    /// The record of a run that is at work, as its lock proves, though its record cannot be read: made again from the index
    /// or from what was asked for. Others are left as they are, for a later version may have written them.
    pub(super) fn mend_record(&self, run: RunId) -> Option<RunRecord> {
        let home = self.home(run);
        if !Supervisor::is_alive(&home) {
            return None;
        }
        // Where there is one, it is kept.
        let _ = fs::rename(home.join(RECORD), home.join(UNREAD));
        let (known, asked) = (self.store.get(run).ok().flatten(), self.asked(run));
        let spec = asked.as_ref().and_then(|asked| asked.spec.clone());
        let mut record = known.or_else(|| Some(RunRecord::new(run, spec?)))?;
        if let Some(asked) = asked {
            record.spec.env = asked.written.request.env;
        }
        tracing::error!(%run, "the record of a run could not be read; it is written anew");
        if let Err(error) = self.save(&record) {
            tracing::error!(%run, %error, "failed to write the record of a run anew");
        }
        Some(record)
    }

    pub(super) fn ids(&self) -> HashSet<RunId> {
        fs::read_dir(&self.dir)
            .into_iter()
            .flatten()
            .filter_map(|entry| RunId::parse(entry.ok()?.file_name().to_str()?).ok())
            .collect()
    }

    pub(super) fn home(&self, run: RunId) -> PathBuf {
        self.dir.join(run.to_string())
    }

    pub(super) fn test_index(&self) -> &TestIndex {
        &self.test_index
    }

    pub(super) fn store(&self) -> &RunIndex {
        &self.store
    }
}

/// The record of a run; `None` where there is none.
pub(super) fn read(home: &Path) -> io::Result<Option<RunRecord>> {
    read_json(&home.join(RECORD))
}

/// What the index needs of a run; what its caller put into the environment is not for it.
fn indexed(record: &RunRecord) -> RunRecord {
    let mut record = record.clone();
    record.hide_env();
    record
}
