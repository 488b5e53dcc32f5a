//! Opening the file. One that cannot be used is renamed, with what belongs to it, and a new one made.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use rusqlite_migration::SchemaVersion;

use super::error::is_damage;
use super::{Condition, Durability, Error, Newer, Schema};
use branchyard_runtime::disk::if_there;

const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// For the daemon's user alone. SQLite gives the log the same.
const MODE: u32 = 0o600;

/// In the name of a file that was set aside.
const ASIDE: &str = ".damaged-";
const LOGS: [&str; 2] = ["-wal", "-shm"];

/// Why a file was not taken as it is.
enum Refused {
    /// Its content is at fault; a new one can take its place.
    Unusable(String),
    /// It is of a version that is not known yet.
    Newer,
    /// Something else is: a permission, a lock, the disk. A new file would not mend that.
    Failed(rusqlite::Error),
}

impl From<rusqlite::Error> for Refused {
    fn from(error: rusqlite::Error) -> Self {
        match is_damage(&error) {
            true => Self::Unusable(error.to_string()),
            false => Self::Failed(error),
        }
    }
}

impl From<rusqlite_migration::Error> for Refused {
    fn from(error: rusqlite_migration::Error) -> Self {
        match error {
            rusqlite_migration::Error::RusqliteError { err, .. } => err.into(),
            other => Self::Unusable(other.to_string()),
        }
    }
}

/// The connection that writes.
pub(crate) fn writable(path: &Path, schema: &Schema) -> Result<(Connection, Condition), Error> {
    let (name, owned) = (schema.name, path.to_owned());
    let failed = |refused| {
        let path = owned.clone();
        match refused {
            Refused::Failed(source) => Error::of(schema, &path, source),
            Refused::Newer => Error::Newer { name, path },
            Refused::Unusable(why) => Error::NotMade { name, path, why },
        }
    };
    if !parts(path).iter().any(|part| part.exists()) {
        return Ok((fresh(path, schema).map_err(failed)?, Condition::Fresh));
    }
    match existing(path, schema) {
        Ok(connection) => Ok((connection, Condition::Sound)),
        Err(Refused::Unusable(why)) => {
            let aside = set_aside(path).map_err(|source| Error::SetAside {
                name,
                path: owned.clone(),
                source,
            })?;
            let connection = fresh(path, schema).map_err(failed)?;
            Ok((connection, Condition::Damaged { aside, why }))
        }
        Err(refused) => Err(failed(refused)),
    }
}

/// A connection that cannot write.
pub(crate) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.pragma_update(None, "query_only", true)?;
    // SQLite opens the log with the first read; that one is not to be a caller's question.
    connection.pragma_query(None, "schema_version", |_| Ok(()))?;
    Ok(connection)
}

/// One more connection to a file that is open already.
pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // A read needs no room on the disk, however much it has to sort.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

fn to_write(path: &Path, durability: Durability) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    let synchronous = match durability {
        Durability::Rebuilt => "NORMAL",
        Durability::Only => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    Ok(connection)
}

fn fresh(path: &Path, schema: &Schema) -> Result<Connection, Refused> {
    // Empty, which SQLite takes for a new one. It would make one itself that others can read.
    let mut options = File::options();
    options.write(true).create_new(true).mode(MODE);
    options.open(path).map_err(|error| not_opened(&error))?;
    let mut connection = to_write(path, schema.durability)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    schema.migrations.to_latest(&mut connection)?;
    // From here on the file is one of ours even without its log.
    connection.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))?;
    Ok(connection)
}

fn existing(path: &Path, schema: &Schema) -> Result<Connection, Refused> {
    check_files(path)?;
    // One that was brought here by hand may be open to others.
    fs::set_permissions(path, Permissions::from_mode(MODE)).map_err(|error| not_opened(&error))?;
    let mut connection = to_write(path, schema.durability)?;
    let migrations = &schema.migrations;
    // Nothing is written before the file is known to be sound.
    if migrations.current_version(&connection)? == SchemaVersion::NoneSet {
        return Err(Refused::Unusable("it has no tables".to_owned()));
    }
    if migrations.pending_migrations(&connection)? < 0 {
        let why = "it was made by a newer version of branchyard";
        return Err(match schema.newer {
            Newer::SetAside => Refused::Unusable(why.to_owned()),
            Newer::Refuse => Refused::Newer,
        });
    }
    // Reads the whole file: a fifth of a second for a hundred thousand runs.
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(Refused::Unusable(verdict));
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    migrations.to_latest(&mut connection)?;
    for statement in schema.statements {
        let prepared = connection.prepare(statement);
        prepared.map_err(|error| Refused::Unusable(error.to_string()))?;
    }
    // A file that cannot be written is told now, not by the first who writes.
    connection
        .transaction_with_behavior(TransactionBehavior::Immediate)?
        .rollback()?;
    Ok(connection)
}

/// As SQLite tells it, which is not asked before the file is ours.
fn not_opened(error: &io::Error) -> Refused {
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
    let why = Some(error.to_string());
    Refused::Failed(rusqlite::Error::SqliteFailure(code, why))
}

/// What SQLite would take for an empty database, or answer with "unable to open".
fn check_files(path: &Path) -> Result<(), Refused> {
    for part in parts(path) {
        let Ok(metadata) = part.metadata() else {
            continue;
        };
        let what = match metadata.file_type() {
            kind if kind.is_file() => continue,
            kind if kind.is_dir() => "a directory",
            _ => "not a regular file",
        };
        return Err(Refused::Unusable(format!("{} is {what}", part.display())));
    }
    let why = match path.metadata() {
        Ok(metadata) if metadata.len() == 0 => "it is empty",
        Ok(_) => return Ok(()),
        Err(_) => "it is gone, and its log was left behind",
    };
    Err(Refused::Unusable(why.to_owned()))
}

/// The files in `dir` that were set aside, without their logs.
pub fn kept_aside(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_log = LOGS.iter().any(|log| name.ends_with(log));
        if name.contains(ASIDE) && !is_log {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The log goes first: if only half of this happens, the rest is found unusable again.
fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let mut aside = beside(path, &format!("{ASIDE}{time}"));
    let mut others = 1;
    while parts(&aside).iter().any(|part| part.exists()) {
        others += 1;
        aside = beside(path, &format!("{ASIDE}{time}-{others}"));
    }
    for (from, to) in parts(path).iter().zip(parts(&aside)).rev() {
        if_there(fs::rename(from, to))?;
    }
    Ok(aside)
}

/// The database itself, its log, and the index of that.
pub(crate) fn parts(path: &Path) -> [PathBuf; 3] {
    ["", LOGS[0], LOGS[1]].map(|suffix| beside(path, suffix))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}
