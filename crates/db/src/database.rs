//! A database in use: a thread writes it, and callers read it over a connection of their own.

use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::file::DbFile;
use crate::writer::{Change, Duties, KEPT, Order, Writer};
use crate::{Error, Schema};
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
        self.file.path()
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
        self.file.emptied().await;
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
            let name = self.name;
            tracing::error!("the writer of the {name} is gone; restart the daemon");
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
