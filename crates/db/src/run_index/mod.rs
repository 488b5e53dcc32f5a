//! The index of run history, in SQLite. The truth about a run is its directory; what stands here can
//! be made again from those at any time, and serves only to find runs quickly.
//!
//! It promises that a write is handed over at once and in order, that a read sees every write that
//! was handed over before it, and that a file which cannot be used is kept aside and spoken of, never
//! overwritten. A row that was lost with the file is not here to be missed: whoever opens the store
//! compares [`RunIndex::ids`] and [`RunIndex::unended`] with the directories.

mod index_file;
mod query;
mod retention;
mod row;
mod schema;
mod writer;

#[cfg(test)]
mod damage;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use jiff::Timestamp;
use rusqlite::Connection;

use crate as database;
use branchyard_model::{BranchName, Idempotency, RepoName, RunId, RunRecord};
use branchyard_runtime::background::Loops;
use index_file::{IndexFile, may_be_damage};
use row::Row;
use schema::SCHEMA;
use writer::Order;

pub use crate::{Condition, Error};
pub use query::Filter;
pub use retention::Retention;

/// The index of all runs; cheap to clone. Dropping the last one writes out what is still waiting.
#[derive(Debug, Clone)]
pub struct RunIndex(Arc<RunIndexInner>);

/// A store, and what its file turned out to be.
#[derive(Debug)]
pub struct Opened {
    pub store: RunIndex,
    pub found: Condition,
}

#[derive(Debug)]
struct RunIndexInner {
    file: IndexFile,
    /// Taken when the store goes, which ends the writer.
    orders: Option<mpsc::Sender<Order>>,
    writer: Option<JoinHandle<()>>,
}

impl RunIndex {
    /// Opens the file, brings its schema up to date, or makes a new one. Where a write fails later,
    /// `make_room` is asked whether it could make any, for it to be tried again at once.
    pub fn open(
        path: &Path,
        loops: &Loops,
        make_room: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Opened, Error> {
        let (connection, found) = database::writable(path, &SCHEMA)?;
        let file = IndexFile::open(path)?;
        let (orders, inbox) = mpsc::channel();
        let writer = writer::spawn(connection, file.clone(), inbox, loops, Box::new(make_room));
        let writer = writer.map_err(|source| Error::Thread {
            name: SCHEMA.name,
            source,
        })?;
        let store = Self(Arc::new(RunIndexInner {
            file,
            orders: Some(orders),
            writer: Some(writer),
        }));
        Ok(Opened { store, found })
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

    fn put_row(&self, record: &RunRecord, log_bytes: u64, ended: bool) {
        match Row::new(record, log_bytes, ended) {
            Ok(row) => self.order(Order::Put(record.run_id, Box::new(row))),
            Err(error) => {
                tracing::error!(run = %record.run_id, %error, "failed to index a run");
            }
        }
    }

    /// Returns when all that was handed over so far is written, or was tried to be.
    pub fn catch_up(&self) {
        self.wait_for(Order::Barrier);
    }

    /// Returns once the file could not be used and was made anew: then all that it had is to be put again.
    pub async fn emptied(&self) {
        self.0.file.emptied().await;
    }

    /// Forgets these runs; returns at once.
    pub fn remove(&self, runs: &[RunId]) {
        self.order(Order::Remove(runs.to_vec()));
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

    pub fn get(&self, run: RunId) -> Result<Option<RunRecord>, Error> {
        self.read(|reader| query::get(reader, run))
    }

    /// Runs that succeeded and had these inputs, newest first.
    pub fn reusable(&self, inputs: &str, limit: usize) -> Result<Vec<RunRecord>, Error> {
        self.read(|reader| query::reusable(reader, inputs, limit))
    }

    pub fn ids(&self) -> Result<HashSet<RunId>, Error> {
        self.read(query::ids)
    }

    /// Runs without an end and those that are not settled, oldest first.
    pub fn unended(&self) -> Result<Vec<RunId>, Error> {
        self.read(query::unended)
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
        self.catch_up();
        let mut answer = self.0.file.read(&read);
        if answer.as_ref().is_err_and(may_be_damage) {
            self.wait_for(Order::Doubt);
            answer = self.0.file.read(&read);
        }
        answer.map_err(|source| Error::of(&SCHEMA, self.0.file.path(), source))
    }

    fn wait_for(&self, order: impl FnOnce(mpsc::Sender<()>) -> Order) {
        let (done, heard) = mpsc::channel();
        self.order(order(done));
        // Err means that the writer is gone, which was logged with the order.
        let _ = heard.recv();
    }

    fn order(&self, order: Order) {
        let sent = self.0.orders.as_ref().map(|orders| orders.send(order));
        if !matches!(sent, Some(Ok(()))) {
            tracing::error!("the writer of the run index is gone; restart the daemon");
        }
    }
}

impl Drop for RunIndexInner {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the writer of the run index failed");
        }
    }
}
