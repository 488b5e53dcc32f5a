//! The file of a database in use: how it is read, and what is done when it turns out to be broken.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode};
use tokio::sync::Notify;

use crate::open::{reader, writable};
use crate::{Condition, Durability, Error, Schema};

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

    pub(crate) fn error(&self, source: rusqlite::Error) -> Error {
        Error::of(self.schema, &self.path, source)
    }

    pub(crate) fn read<T>(
        &self,
        read: impl Fn(&Connection) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        read(&self.reader.lock())
    }

    /// Whether it is worth a look at the whole file, of which a new one can be made: its content is at fault, or it
    /// lacks what we made.
    pub(crate) fn can_mend(&self, error: &rusqlite::Error) -> bool {
        use ErrorCode::{DatabaseCorrupt, NotADatabase, Unknown};
        matches!(self.schema.durability, Durability::Rebuilt)
            && matches!(
                error.sqlite_error_code(),
                Some(DatabaseCorrupt | NotADatabase | Unknown)
            )
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns once the file could not be used and was made anew.
    pub(crate) async fn emptied(&self) {
        self.emptied.notified().await;
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
