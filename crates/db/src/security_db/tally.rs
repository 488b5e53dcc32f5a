//! How many changes the database has seen, kept beside it as well. A database that lacks its last changes, as after its
//! write-ahead log was deleted, is whole by its own account: only a count outside of it tells.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::Connection;

/// The count inside: by triggers, so that no change goes uncounted.
pub(super) const VERSION: &str = "
    CREATE TABLE changes (total INTEGER NOT NULL) STRICT;
    INSERT INTO changes (total) VALUES (0);
    CREATE TRIGGER a_new_token_is_counted AFTER INSERT ON tokens
        BEGIN UPDATE changes SET total = total + 1; END;
    CREATE TRIGGER a_revoked_token_is_counted AFTER UPDATE OF revoked_at ON tokens
        BEGIN UPDATE changes SET total = total + 1; END;
    CREATE TRIGGER a_record_is_counted AFTER INSERT ON audit
        BEGIN UPDATE changes SET total = total + 1; END;
";

/// Digits of any count.
const LEN: usize = 20;

/// The count outside; cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Tally(Arc<Mutex<WrittenTally>>);

#[derive(Debug)]
struct WrittenTally {
    file: File,
    total: i64,
}

impl Tally {
    /// The count beside the database at `path`, and how many changes that lacks. From now on it says what the database
    /// says.
    pub(super) fn open(path: &Path, from: &Connection) -> io::Result<(Self, u64)> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path.with_extension("count"))?;
        let mut text = [0; LEN];
        let len = file.read_at(&mut text, 0)?;
        let outside = std::str::from_utf8(&text[..len]).unwrap_or_default();
        let outside = outside.trim().parse::<i64>().unwrap_or(0);
        let inside = total(from).map_err(io::Error::other)?;
        let tally = Self(Arc::new(Mutex::new(WrittenTally { file, total: -1 })));
        tally.set(inside)?;
        Ok((tally, u64::try_from(outside - inside).unwrap_or(0)))
    }

    /// To be called after every transaction.
    pub(super) fn follow(&self, from: &Connection) {
        let followed = total(from).map_err(io::Error::other);
        if let Err(error) = followed.and_then(|total| self.set(total)) {
            tracing::warn!(%error, "the changes of the trust database are not counted beside it");
        }
    }

    /// In place and of one length: a full disk takes it, too.
    fn set(&self, total: i64) -> io::Result<()> {
        let mut written = self.0.lock();
        if total <= written.total {
            return Ok(());
        }
        let text = format!("{total:>LEN$}");
        written.file.write_all_at(text.as_bytes(), 0)?;
        written.total = total;
        Ok(())
    }
}

fn total(from: &Connection) -> rusqlite::Result<i64> {
    from.prepare_cached("SELECT total FROM changes")?
        .query_row([], |row| row.get(0))
}
