//! The file of the index while it is in use: how it is read, and what is done when it turns out to be broken.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, ErrorCode};
use tokio::sync::Notify;

use super::schema::SCHEMA;
use crate::{self as database, Condition, Error};

/// Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct IndexFile(Arc<IndexShared>);

#[derive(Debug)]
struct IndexShared {
    path: PathBuf,
    reader: Mutex<Connection>,
    emptied: Notify,
}

impl IndexFile {
    /// A file that has a writer already.
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        let reader = database::reader(path).map_err(|source| Error::of(&SCHEMA, path, source))?;
        Ok(Self(Arc::new(IndexShared {
            path: path.to_owned(),
            reader: Mutex::new(reader),
            emptied: Notify::new(),
        })))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0.path
    }

    pub(super) fn read<T>(
        &self,
        read: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        read(&self.0.reader.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns once the file was made anew.
    pub(super) async fn emptied(&self) {
        self.0.emptied.notified().await;
    }

    /// Opens the file again for its `writer` and its reader; one that cannot be used is kept aside.
    pub(super) fn reopen(&self, writer: &mut Connection) -> Result<Condition, Error> {
        let path = &self.0.path;
        let failed = |source| Error::of(&SCHEMA, path, source);
        let mut reader = self.0.reader.lock().unwrap_or_else(PoisonError::into_inner);
        // The last connection to go deletes the log, by its name; so both go before there is another of that name.
        *writer = Connection::open_in_memory().map_err(failed)?;
        *reader = Connection::open_in_memory().map_err(failed)?;
        let (connection, found) = database::writable(path, &SCHEMA)?;
        *writer = connection;
        *reader = database::reader(path).map_err(failed)?;
        if found != Condition::Sound {
            self.0.emptied.notify_one();
        }
        Ok(found)
    }
}

/// Whether it is worth a look at the whole file: its content is at fault, or it lacks what we made.
pub(super) fn may_be_damage(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseCorrupt | NotADatabase | Unknown)
    )
}
