//! The index of run history, in SQLite. The truth about a run is its directory; what stands here can
//! be made again from those at any time, and serves only to find runs quickly.
//!
//! It promises that a write is handed over at once and in order, that a read sees every write that
//! was handed over before it, and that a file which cannot be used is kept aside and spoken of, never
//! overwritten. A row that was lost with the file is not here to be missed: whoever opens the store
//! compares [`RunIndex::ids`] and [`RunIndex::unended`] with the directories.

mod query;
mod retention;
mod row;
mod schema;
mod test_index;

#[cfg(test)]
mod damage;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::Connection;

use crate::database::Database;
use crate::open::writable;
use branchyard_model::{BranchName, Idempotency, RepoName, RunId, RunKind, RunRecord};
use branchyard_runtime::background::Loops;
use schema::SCHEMA;

pub use crate::{Condition, Error};
pub use query::{Filter, TestedRun};
pub use retention::Retention;
pub use test_index::{TestIndex, TestedBranches};

/// The index of all runs; cheap to clone. Dropping the last one writes out what is still waiting.
#[derive(Debug, Clone)]
pub struct RunIndex(Arc<Database>);

impl RunIndex {
    /// Opens the file, brings its schema up to date, or makes a new one; and says what the file turned out to be.
    /// Where a write fails later, `make_room` is asked whether it could make any, for it to be tried again at once.
    pub fn open(
        path: &Path,
        loops: &Loops,
        make_room: impl FnMut() -> bool + Send + 'static,
    ) -> Result<(Self, Condition), Error> {
        let (connection, found) = writable(path, &SCHEMA)?;
        let names = ("run_index", SCHEMA.name);
        let index = Database::start(names, connection, (path, &SCHEMA), loops, make_room)?;
        Ok((Self(Arc::new(index)), found))
    }

    /// The index of test results, which is in the same file. To be asked for once: it bounds what waits.
    pub fn tests(&self) -> TestIndex {
        TestIndex::of(self.0.clone())
    }

    /// Takes note of a run as it now is; returns at once. A later note of the same run replaces it.
    pub fn put(&self, record: &RunRecord, log_bytes: u64) {
        self.put_row(record, log_bytes, record.state.is_ended());
    }

    /// As [`RunIndex::put`], while there is something left to do about the run even if it has ended: it
    /// stays among the [`RunIndex::unended`].
    pub fn put_unsettled(&self, record: &RunRecord, log_bytes: u64) {
        self.put_row(record, log_bytes, false);
    }

    fn put_row(&self, record: &RunRecord, bytes: u64, ended: bool) {
        let record = record.clone();
        self.0.note(move |to| row::write(&record, bytes, ended, to));
    }

    /// Returns when all that was handed over so far is written, or was tried to be.
    pub fn catch_up(&self) {
        self.0.catch_up();
    }

    /// Returns once the file could not be used and was made anew: then all that it had is to be put again.
    pub async fn emptied(&self) {
        self.0.emptied().await;
    }

    /// Forgets these runs; returns at once.
    pub fn remove(&self, runs: &[RunId]) {
        let runs = runs.to_vec();
        self.0.note(move |to| row::delete(&runs, to));
    }

    /// Runs by `filter` of branches of which `is_seen` holds, newest first. A row that cannot be read is
    /// logged and left out.
    pub fn list(
        &self,
        filter: &Filter,
        limit: usize,
        is_seen: impl Fn(&RepoName, &BranchName) -> bool,
    ) -> Result<Vec<RunRecord>, Error> {
        self.read(|reader| query::list(reader, filter, limit, &is_seen))
    }

    /// The newest run of each of these branches that has one, of another kind than `besides`.
    pub fn newest_of_branches(
        &self,
        repo: &RepoName,
        branches: &[BranchName],
        besides: RunKind,
    ) -> Result<Vec<RunRecord>, Error> {
        self.read(|reader| query::newest_of_branches(reader, repo, branches, besides))
    }

    pub fn get(&self, run: RunId) -> Result<Option<RunRecord>, Error> {
        self.read(|reader| query::get(reader, run))
    }

    /// Runs that succeeded and had these inputs, newest first.
    pub fn reusable(&self, inputs: &str, limit: usize) -> Result<Vec<RunRecord>, Error> {
        self.read(|reader| query::reusable(reader, inputs, limit))
    }

    /// Runs of a branch whose tests are known and that are older than `before`, newest first.
    pub fn tested(
        &self,
        of: (&RepoName, &BranchName),
        before: RunId,
        limit: usize,
    ) -> Result<Vec<TestedRun>, Error> {
        self.read(|reader| query::tested(reader, of, before, limit))
    }

    /// All runs whose tests are known.
    pub fn all_tested(&self) -> Result<Vec<RunId>, Error> {
        let tested = "SELECT id FROM runs WHERE tested = 1 ORDER BY id DESC";
        self.read(|reader| query::run_ids(reader, tested))
    }

    pub fn ids(&self) -> Result<HashSet<RunId>, Error> {
        self.read(|reader| query::run_ids(reader, "SELECT id FROM runs"))
    }

    /// Runs without an end and those that are not settled, oldest first.
    pub fn unended(&self) -> Result<Vec<RunId>, Error> {
        let unended = "SELECT id FROM runs WHERE ended = 0 ORDER BY id";
        self.read(|reader| query::run_ids(reader, unended))
    }

    /// The idempotency keys of runs requested since then, and who used them, oldest first.
    pub fn keys_since(&self, since: Timestamp) -> Result<Vec<(String, Idempotency, RunId)>, Error> {
        self.read(|reader| query::keys_since(reader, since))
    }

    /// Ended runs that are beyond what is to be kept, oldest first. A run whose idempotency key may
    /// still be asked about is not among them.
    pub fn beyond(&self, retention: &Retention, now: Timestamp) -> Result<Vec<RunId>, Error> {
        self.read(|reader| retention::beyond(reader, retention, now))
    }

    /// Reads once everything that was ordered before is written.
    fn read<T>(&self, read: impl Fn(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        self.0.catch_up();
        self.0.read(read)
    }
}
