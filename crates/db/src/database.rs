//! A database in use: a thread writes it, and callers read it over a connection of their own.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::{Notify, oneshot};

use crate::open::{reader, writable};
use crate::writer::{Change, Duties, KEPT, Order, Writer};
use crate::{Condition, Durability, Error, Schema};
use branchyard_runtime::background::Loops;

/// Dropping it writes out what is still waiting.
#[derive(Debug)]
pub(crate) struct Database {
    name: &'static str,
    file: Arc<DbFile>,
    /// Taken when the database is closed, which ends the thread.
    orders: Option<mpsc::Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

impl Database {
    /// Has `connection` written by a thread of its own, which `loops` calls `thread` and messages call `name`.
    pub(crate) fn start(
        (thread, name): (&'static str, &'static str),
        connection: Connection,
        (path, schema): (&Path, &'static Schema),
        loops: &Loops,
        duties: impl Duties,
    ) -> Result<Self, Error> {
        let file = Arc::new(DbFile::open(path, schema)?);
        let mut writer = Writer::new(name, connection, file.clone(), KEPT, duties);
        let (orders, inbox) = mpsc::channel();
        let thread = loops.keep_thread(thread, move || writer.serve(&inbox));
        let thread = thread.map_err(|source| Error::Thread { name, source })?;
        Ok(Self {
            name,
            file,
            orders: Some(orders),
            thread: Some(thread),
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.file.path
    }

    /// Makes a change, and returns when it is committed. It may be tried more than once.
    pub(crate) async fn write(
        &self,
        change: impl FnMut(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), Error> {
        let (done, written) = oneshot::channel();
        // The caller may have gone.
        let done = Box::new(|result| drop(done.send(result)));
        self.order(Order::new(Some(Box::new(change)), Some(done)));
        let gone = |_| Err(rusqlite::Error::InvalidQuery);
        let written = written.await.unwrap_or_else(gone);
        written.map_err(|source| self.file.error(source))
    }

    /// Makes a change some time soon, after those that were asked for before. One that fails is logged and
    /// tried again.
    pub(crate) fn note(
        &self,
        change: impl FnMut(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) {
        self.order(Order::new(Some(Box::new(change)), None));
    }

    /// Has the thread ask its duties what is due.
    pub(crate) fn wake(&self) {
        self.order(Order::new(None, None));
    }

    /// Returns when all that was ordered so far is written, or was tried to be. Blocks.
    pub(crate) fn catch_up(&self) {
        self.wait_for(None);
    }

    /// What is committed. Blocks.
    pub(crate) fn read<T>(
        &self,
        read: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, Error> {
        let mut answer = self.file.read(&read);
        if let Err(error) = answer {
            if !self.file.can_mend(&error) {
                return Err(self.file.error(error));
            }
            // The writer, to which a change fails as the read did, looks at the file.
            let mut doubt = Some(error);
            self.wait_for(Some(Box::new(move |_| doubt.take().map_or(Ok(()), Err))));
            answer = self.file.read(&read);
        }
        answer.map_err(|source| self.file.error(source))
    }

    /// Returns once the file could not be used and was made anew.
    pub(crate) async fn emptied(&self) {
        self.file.emptied.notified().await;
    }

    fn wait_for(&self, change: Option<Change>) {
        let (done, heard) = mpsc::channel();
        let done = Box::new(move |result| drop(done.send(result)));
        self.order(Order::new(change, Some(done)));
        // Err means that the writer is gone, which was logged with the order.
        let _ = heard.recv();
    }

    fn order(&self, order: Order) {
        let orders = self.orders.as_ref();
        if orders.is_none_or(|orders| orders.send(order).is_err()) {
            tracing::error!(
                "the writer of the {} is gone; restart the daemon",
                self.name
            );
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer of the {} failed", self.name);
        }
    }
}

/// The file: how it is read, and what is done when it turns out to be broken.
#[derive(Debug)]
pub(crate) struct DbFile {
    path: PathBuf,
    schema: &'static Schema,
    reader: Mutex<Connection>,
    emptied: Notify,
}

impl DbFile {
    /// A file that has a writer already.
    pub(crate) fn open(path: &Path, schema: &'static Schema) -> Result<Self, Error> {
        let reader = reader(path).map_err(|source| Error::of(schema, path, source))?;
        Ok(Self {
            path: path.to_owned(),
            schema,
            reader: Mutex::new(reader),
            emptied: Notify::new(),
        })
    }

    fn error(&self, source: rusqlite::Error) -> Error {
        Error::of(self.schema, &self.path, source)
    }

    fn read<T>(&self, read: impl Fn(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        read(&self.reader.lock())
    }

    /// Whether it is worth a look at the whole file, of which a new one can be made: its content is at fault, or it
    /// lacks what we made.
    fn can_mend(&self, error: &rusqlite::Error) -> bool {
        use ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
        matches!(self.schema.durability, Durability::Rebuilt)
            && matches!(
                error.sqlite_error_code(),
                Some(DatabaseCorrupt | NotADatabase | Unknown)
            )
    }

    /// After an error that may be damage, opens the file again, which makes it anew where it cannot be used. False
    /// where that cannot help.
    pub(crate) fn mend(&self, writer: &mut Connection, error: &rusqlite::Error) -> bool {
        if !self.can_mend(error) {
            return false;
        }
        let name = self.schema.name;
        match self.reopen(writer) {
            Ok(Condition::Sound) => {}
            Ok(Condition::Fresh) => tracing::error!("the {name} was gone; it is made anew"),
            Ok(Condition::Damaged { aside, why }) => {
                tracing::error!(aside = %aside.display(), why, "the {name} was damaged; it is made anew");
            }
            Err(error) => tracing::error!(%error, "the {name} cannot be opened again"),
        }
        true
    }

    /// Opens the file again for its `writer` and its reader; one that cannot be used is kept aside.
    fn reopen(&self, writer: &mut Connection) -> Result<Condition, Error> {
        let failed = |source| self.error(source);
        let mut own = self.reader.lock();
        // The last connection to go deletes the log, by its name; so both go before there is another of that name.
        *writer = Connection::open_in_memory().map_err(failed)?;
        *own = Connection::open_in_memory().map_err(failed)?;
        let (connection, found) = writable(&self.path, self.schema)?;
        *writer = connection;
        *own = reader(&self.path).map_err(failed)?;
        if found != Condition::Sound {
            self.emptied.notify_one();
        }
        Ok(found)
    }
}
