//! Opening the file. One that cannot be used is renamed, with what belongs to it, and a new one made.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use rusqlite_migration::SchemaVersion;

use super::error::is_damage;
use super::row::INSERT;
use super::schema::MIGRATIONS;
use super::{Error, Found};

const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a file was not taken as it is.
enum Refused {
    /// Its content is at fault; a new one can take its place.
    Unusable(String),
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
pub(super) fn writable(path: &Path) -> Result<(Connection, Found), Error> {
    let failed = |refused| match refused {
        Refused::Failed(source) => Error::of(path, source),
        Refused::Unusable(why) => Error::NotMade {
            path: path.to_owned(),
            why,
        },
    };
    if !parts(path).iter().any(|part| part.exists()) {
        return Ok((fresh(path).map_err(failed)?, Found::Fresh));
    }
    match existing(path) {
        Ok(connection) => Ok((connection, Found::Sound)),
        Err(Refused::Unusable(why)) => {
            let aside = set_aside(path).map_err(|source| Error::SetAside {
                path: path.to_owned(),
                source,
            })?;
            let connection = fresh(path).map_err(failed)?;
            Ok((connection, Found::Damaged { aside, why }))
        }
        Err(refused) => Err(failed(refused)),
    }
}

/// A connection that cannot write.
pub(super) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path, OpenFlags::empty())?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn connect(path: &Path, create: OpenFlags) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | create;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // A power cut may cost the last commits, never the file; the runs' directories have them.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // A read needs no room on the disk, however much it has to sort.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

fn fresh(path: &Path) -> Result<Connection, Refused> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_CREATE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    MIGRATIONS.to_latest(&mut connection)?;
    // From here on the file is one of ours even without its log.
    connection.pragma(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))?;
    Ok(connection)
}

fn existing(path: &Path) -> Result<Connection, Refused> {
    check_files(path)?;
    let mut connection = connect(path, OpenFlags::empty())?;
    // Nothing is written before the file is known to be sound.
    if MIGRATIONS.current_version(&connection)? == SchemaVersion::NoneSet {
        return Err(Refused::Unusable("it has no tables".to_owned()));
    }
    if MIGRATIONS.pending_migrations(&connection)? < 0 {
        let why = "it was made by a newer version of branchyard";
        return Err(Refused::Unusable(why.to_owned()));
    }
    // Reads the whole file: a fifth of a second for a hundred thousand runs.
    let verdict: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if verdict != "ok" {
        return Err(Refused::Unusable(verdict));
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    MIGRATIONS.to_latest(&mut connection)?;
    if let Err(error) = connection.prepare(INSERT) {
        return Err(Refused::Unusable(error.to_string()));
    }
    // A file that cannot be written is told now, not by the first run.
    connection
        .transaction_with_behavior(TransactionBehavior::Immediate)?
        .rollback()?;
    Ok(connection)
}

/// What SQLite would take for an empty database, or answer with "unable to open".
fn check_files(path: &Path) -> Result<(), Refused> {
    for part in parts(path) {
        let Ok(metadata) = part.metadata() else {
            continue;
        };
        if !metadata.is_file() {
            let what = match metadata.is_dir() {
                true => "a directory",
                false => "not a regular file",
            };
            return Err(Refused::Unusable(format!("{} is {what}", part.display())));
        }
    }
    match path.metadata() {
        Ok(metadata) if metadata.len() == 0 => Err(Refused::Unusable("it is empty".to_owned())),
        Ok(_) => Ok(()),
        Err(_) => Err(Refused::Unusable(
            "it is gone, and its log was left behind".to_owned(),
        )),
    }
}

/// The log goes first: if only half of this happens, the rest is found unusable again.
fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let time = Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let mut aside = beside(path, &format!(".damaged-{time}"));
    let mut others = 1;
    while parts(&aside).iter().any(|part| part.exists()) {
        others += 1;
        aside = beside(path, &format!(".damaged-{time}-{others}"));
    }
    for (from, to) in parts(path).iter().zip(parts(&aside)).rev() {
        match std::fs::rename(from, to) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(aside)
}

/// The database itself, its log, and the index of that.
fn parts(path: &Path) -> [PathBuf; 3] {
    ["", "-wal", "-shm"].map(|suffix| beside(path, suffix))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::fixture::{Yard, record};
    use std::fs;

    /// A store of a hundred runs, closed in good order.
    fn hundred_runs() -> Yard {
        let yard = Yard::new();
        let store = yard.store();
        for _ in 0..100 {
            store.put(&record(), 0);
        }
        yard
    }

    /// The store works, says what it found, and the old file is where it says.
    fn found_damaged(yard: &Yard) -> (PathBuf, String) {
        let (store, found) = yard.open();
        let Found::Damaged { aside, why } = found else {
            panic!("{found:?}");
        };
        assert!(store.ids().unwrap().is_empty());
        let run = record();
        store.put(&run, 0);
        drop(store);
        let (store, found) = yard.open();
        assert_eq!(found, Found::Sound);
        assert_eq!(store.ids().unwrap(), [run.run_id].into());
        (aside, why)
    }

    fn damaged_by(damage: impl FnOnce(&Path)) -> String {
        let yard = hundred_runs();
        damage(&yard.path());
        let left = fs::read(yard.path()).ok();
        let (aside, why) = found_damaged(&yard);
        assert!(fs::read(aside).ok() == left, "kept as it was");
        why
    }

    fn truncate(path: &Path, len: u64) {
        fs::File::options()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(len)
            .unwrap();
    }

    #[test]
    fn a_truncated_file_is_kept_aside() {
        assert_eq!(damaged_by(|path| truncate(path, 0)), "it is empty");
        for len in [1, 100, 4096] {
            damaged_by(|path| truncate(path, len));
        }
        damaged_by(|path| {
            let len = path.metadata().unwrap().len();
            truncate(path, len / 2);
        });
    }

    #[test]
    fn garbage_is_kept_aside() {
        damaged_by(|path| fs::write(path, "not a database".repeat(1000)).unwrap());
        // The header is whole, a page in the middle is not.
        damaged_by(|path| {
            let mut bytes = fs::read(path).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle..middle + 4096].fill(0xa5);
            fs::write(path, bytes).unwrap();
        });
    }

    #[test]
    fn a_directory_in_its_place_is_kept_aside() {
        let yard = Yard::new();
        fs::create_dir(yard.path()).unwrap();
        fs::write(yard.path().join("inside"), "x").unwrap();
        let (aside, why) = found_damaged(&yard);
        assert!(why.ends_with("yard.db is a directory"), "{why}");
        assert!(aside.join("inside").exists());
    }

    #[test]
    fn a_file_of_another_version_or_kind_is_kept_aside() {
        let sql = |sql: &'static str| {
            move |path: &Path| Connection::open(path).unwrap().execute_batch(sql).unwrap()
        };
        let newer = damaged_by(sql("PRAGMA user_version = 1000"));
        assert_eq!(newer, "it was made by a newer version of branchyard");
        let foreign = damaged_by(sql("DROP TABLE runs; PRAGMA user_version = 0"));
        assert_eq!(foreign, "it has no tables");
        let other_table = damaged_by(sql("DROP TABLE runs; CREATE TABLE runs (id)"));
        assert!(
            other_table.contains("no column named repo"),
            "{other_table}"
        );
    }

    /// What a crash leaves: the files as they are while the store is in use.
    fn crashed() -> Yard {
        let (yard, crashed) = (hundred_runs(), Yard::new());
        let store = yard.store();
        store.put(&record(), 0);
        assert_eq!(store.ids().unwrap().len(), 101);
        for (from, to) in parts(&yard.path()).iter().zip(parts(&crashed.path())) {
            fs::copy(from, to).unwrap();
        }
        crashed
    }

    #[test]
    fn a_crash_loses_nothing() {
        let (store, found) = crashed().open();
        assert_eq!(found, Found::Sound);
        assert_eq!(store.ids().unwrap().len(), 101);
    }

    #[test]
    fn without_its_log_it_is_as_it_was_before() {
        let yard = crashed();
        let [_, log, _] = parts(&yard.path());
        fs::remove_file(log).unwrap();
        let (store, found) = yard.open();
        assert_eq!(found, Found::Sound);
        assert_eq!(store.ids().unwrap().len(), 100, "for the caller to compare");
        store.put(&record(), 0);
        assert_eq!(store.ids().unwrap().len(), 101);
    }

    #[test]
    fn a_log_without_its_file_is_kept_aside() {
        let yard = crashed();
        fs::remove_file(yard.path()).unwrap();
        let (aside, why) = found_damaged(&yard);
        assert_eq!(why, "it is gone, and its log was left behind");
        let [_, log, _] = parts(&aside);
        assert!(log.exists());
    }

    #[test]
    fn damaged_twice_is_kept_twice() {
        let yard = hundred_runs();
        let mut kept = Vec::new();
        for garbage in ["one", "two"] {
            fs::write(yard.path(), garbage).unwrap();
            let (_, found) = yard.open();
            let Found::Damaged { aside, .. } = found else {
                panic!("{found:?}");
            };
            kept.push(fs::read_to_string(aside).unwrap());
        }
        assert_eq!(kept, ["one", "two"]);
    }

    #[test]
    fn a_missing_directory_is_an_error_and_nothing_is_set_aside() {
        let yard = Yard::new();
        let error =
            crate::store::Store::open(&yard.dir.path().join("no/yard.db"), || false).unwrap_err();
        assert!(matches!(error, Error::Sqlite { .. }), "{error}");
    }

    #[test]
    fn damage_that_shows_later_is_told_with_its_mend() {
        let yard = hundred_runs();
        let store = yard.store();
        assert_eq!(store.ids().unwrap().len(), 100);
        let len = yard.path().metadata().unwrap().len();
        let file = fs::File::options().write(true).open(yard.path()).unwrap();
        let garbage = vec![0xa5; usize::try_from(len).unwrap() - 4096];
        std::os::unix::fs::FileExt::write_all_at(&file, &garbage, 4096).unwrap();
        // A page that is still in memory would hide it.
        let fresh = reader(&yard.path()).unwrap();
        *store.0.reader.lock().unwrap() = fresh;
        let error = store.ids().unwrap_err();
        assert!(matches!(error, Error::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("restart the daemon"), "{error}");
        drop(store);
        found_damaged(&yard);
    }
}
