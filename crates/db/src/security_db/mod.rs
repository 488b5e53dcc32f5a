//! Who was trusted with what, and what came of it: `trust.db`. Unlike the index of runs it cannot be made
//! again from anything, so what was committed stays over a power cut, and a file of a newer version is left
//! alone. It holds no secret: of a token its hash.

pub mod audit;
mod schema;
mod tally;
mod tokens;
mod writer;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate as database;
use branchyard_runtime::background::Loops;
use schema::SCHEMA;
use tally::Tally;
use writer::{Change, Order};

pub use crate::{Condition, Error};
pub use tokens::TokenRow;

/// The file, open; cheap to clone. Dropping the last one writes out what is still waiting.
#[derive(Debug, Clone)]
pub struct SecurityDb(Arc<SecurityDbInner>);

/// The file, and what it turned out to be.
#[derive(Debug)]
pub struct Opened {
    pub trust: SecurityDb,
    pub found: Condition,
    /// How many of its last changes it lacks, by the count beside it.
    pub missing: u64,
}

#[derive(Debug)]
struct SecurityDbInner {
    path: PathBuf,
    reader: Mutex<Connection>,
    tally: Tally,
    /// Taken when the file is closed, which ends the writer.
    orders: Option<mpsc::Sender<Order>>,
    writer: Option<JoinHandle<()>>,
}

impl SecurityDb {
    /// Opens the file, brings its schema up to date, or makes a new one. Where a write fails later,
    /// `make_room` is asked whether it could make any, for it to be tried again at once.
    pub fn open(
        path: &Path,
        loops: &Loops,
        make_room: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Opened, Error> {
        let (connection, found) = database::writable(path, &SCHEMA)?;
        let reader = database::reader(path).map_err(|source| Error::of(&SCHEMA, path, source))?;
        let thread = |source| Error::Thread {
            name: SCHEMA.name,
            source,
        };
        let (tally, missing) = Tally::open(path, &connection).map_err(thread)?;
        let (orders, inbox) = mpsc::channel();
        let writer = writer::spawn(connection, inbox, tally.clone(), loops, Box::new(make_room));
        let writer = writer.map_err(thread)?;
        let trust = Self(Arc::new(SecurityDbInner {
            path: path.to_owned(),
            reader: Mutex::new(reader),
            tally,
            orders: Some(orders),
            writer: Some(writer),
        }));
        Ok(Opened {
            trust,
            found,
            missing,
        })
    }

    fn path(&self) -> &Path {
        &self.0.path
    }

    fn tally(&self) -> Tally {
        self.0.tally.clone()
    }

    /// Makes a change, and returns when it is on the disk. It may be tried more than once.
    async fn write(
        &self,
        change: impl FnMut(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), Error> {
        let (done, written) = oneshot::channel();
        self.order(Box::new(change), Some(done));
        let gone = |_| Err(rusqlite::Error::InvalidQuery);
        let written = written.await.unwrap_or_else(gone);
        written.map_err(|source| self.error(source))
    }

    /// Makes a change some time soon, after those that were asked for before. One that fails is logged and
    /// tried again.
    fn note(&self, change: impl FnMut(&Connection) -> rusqlite::Result<()> + Send + 'static) {
        self.order(Box::new(change), None);
    }

    /// What is on the disk. Blocks.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        let reader = self.0.reader.lock().unwrap_or_else(PoisonError::into_inner);
        read(&reader).map_err(|source| self.error(source))
    }

    fn order(&self, change: Change, done: Option<writer::Done>) {
        let order = Order { change, done };
        let sent = self.0.orders.as_ref().map(|orders| orders.send(order));
        if !matches!(sent, Some(Ok(()))) {
            tracing::error!("the writer of the trust database is gone; restart the daemon");
        }
    }

    fn error(&self, source: rusqlite::Error) -> Error {
        Error::of(&SCHEMA, &self.0.path, source)
    }
}

impl Drop for SecurityDbInner {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the writer of the trust database failed");
        }
    }
}
