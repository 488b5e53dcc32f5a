//! Who was trusted with what, and what came of it: `trust.db`. Unlike the index of runs it cannot be made
//! again from anything, so what was committed stays over a power cut, and a file of a newer version is left
//! alone. It holds no secret: of a token its hash.

pub mod audit;
mod schema;
mod tally;
mod tokens;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use rusqlite::Connection;

use crate::database::Database;
use crate::open::writable;
use crate::writer::Duties;
use branchyard_runtime::background::Loops;
use schema::SCHEMA;
use tally::Tally;

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
    database: Database,
    tally: Tally,
}

impl SecurityDb {
    /// Opens the file, brings its schema up to date, or makes a new one. Where a write fails later,
    /// `make_room` is asked whether it could make any, for it to be tried again at once.
    pub fn open(
        path: &Path,
        loops: &Loops,
        make_room: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Opened, Error> {
        let (connection, found) = writable(path, &SCHEMA)?;
        let name = SCHEMA.name;
        let failed = |source| Error::Thread { name, source };
        let (tally, missing) = Tally::open(path, &connection).map_err(failed)?;
        let duties = Counting(make_room, tally.clone());
        let names = ("trust", name);
        let database = Database::start(names, connection, (path, &SCHEMA), loops, duties)?;
        let trust = Self(Arc::new(SecurityDbInner { database, tally }));
        Ok(Opened {
            trust,
            found,
            missing,
        })
    }
}

struct Counting<F>(F, Tally);

impl<F: FnMut() -> bool + Send + 'static> Duties for Counting<F> {
    fn make_room(&mut self) -> bool {
        self.0()
    }

    fn committed(&mut self, connection: &Connection) {
        self.1.follow(connection);
    }
}
