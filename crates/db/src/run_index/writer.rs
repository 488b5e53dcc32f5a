//! The one thread that writes. Whatever is waiting goes into one transaction, so that a burst of
//! runs costs one commit.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};

use super::index_file::{IndexFile, may_be_damage};
use super::row::{self, Row};
use crate::Condition;
use branchyard_model::RunId;
use branchyard_runtime::background::Loops;

/// How many orders one transaction takes at most, so that whoever waits at a barrier waits briefly.
const BATCH: usize = 1000;
/// How many changes are kept while they cannot be written. Beyond it the oldest runs go first; their
/// directories still have them, and the next start finds them there.
const KEPT: usize = 10_000;

/// How long after a failure it is tried again, if nobody orders anything.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// Makes room on a full disk; false where that cannot be, or would not help.
pub(super) type MakeRoom = Box<dyn FnMut() -> bool + Send>;

#[derive(Debug)]
pub(super) enum Order {
    Put(RunId, Box<Row>),
    Remove(Vec<RunId>),
    /// Answered when everything before it was tried.
    Barrier(Sender<()>),
    /// A read met damage. Answered when the file was looked at, and made anew where it cannot be used.
    Doubt(Sender<()>),
}

/// Ends, after a last attempt to write, when nobody can order any more.
pub(super) fn spawn(
    connection: Connection,
    file: IndexFile,
    inbox: Receiver<Order>,
    loops: &Loops,
    make_room: MakeRoom,
) -> std::io::Result<JoinHandle<()>> {
    let mut writer = IndexWriter::new(connection, file, KEPT, make_room);
    loops.keep_thread("run_index", move || writer.serve(&inbox))
}

struct IndexWriter {
    connection: Connection,
    file: IndexFile,
    /// What each run is to become, none meaning gone. Only the last word on a run counts.
    changes: BTreeMap<RunId, Option<Box<Row>>>,
    kept: usize,
    make_room: MakeRoom,
}

impl IndexWriter {
    fn new(connection: Connection, file: IndexFile, kept: usize, make_room: MakeRoom) -> Self {
        Self {
            connection,
            file,
            changes: BTreeMap::new(),
            kept,
            make_room,
        }
    }

    fn serve(&mut self, inbox: &Receiver<Order>) {
        while let Ok(first) = self.next(inbox) {
            let mut waiting = Vec::new();
            for order in first.into_iter().chain(inbox.try_iter().take(BATCH)) {
                match order {
                    Order::Put(run, row) => {
                        self.changes.insert(run, Some(row));
                    }
                    Order::Remove(runs) => {
                        self.changes.extend(runs.into_iter().map(|run| (run, None)));
                    }
                    Order::Barrier(done) => waiting.push(done),
                    Order::Doubt(done) => {
                        self.reopen();
                        waiting.push(done);
                    }
                }
            }
            self.write();
            for done in waiting {
                // Whoever waited may have gone.
                let _ = done.send(());
            }
        }
        self.write();
    }

    /// Waits for an order; where something could not be written, no longer than until that is due again.
    fn next(&self, inbox: &Receiver<Order>) -> Result<Option<Order>, RecvTimeoutError> {
        if self.changes.is_empty() {
            return Ok(Some(inbox.recv()?));
        }
        match inbox.recv_timeout(TRY_AGAIN) {
            Err(RecvTimeoutError::Timeout) => Ok(None),
            order => order.map(Some),
        }
    }

    /// Writes all changes or none. What failed is tried again with what comes next.
    fn write(&mut self) {
        if self.changes.is_empty() {
            return;
        }
        let mut written = self.transaction();
        while written.is_err() && (self.make_room)() {
            written = self.transaction();
        }
        if written.as_ref().is_err_and(may_be_damage) {
            self.reopen();
            written = self.transaction();
        }
        match written {
            Ok(()) => self.changes.clear(),
            Err(error) => {
                let waiting = self.changes.len();
                tracing::error!(%error, waiting, "failed to write the run index; it is tried again");
                self.forget_beyond_what_is_kept();
            }
        }
    }

    /// Opens the file again, which makes it anew where it cannot be used.
    fn reopen(&mut self) {
        match self.file.reopen(&mut self.connection) {
            Ok(Condition::Sound) => {}
            Ok(Condition::Fresh) => tracing::error!("the index of runs was gone; it is made anew"),
            Ok(Condition::Damaged { aside, why }) => {
                tracing::error!(aside = %aside.display(), why, "the index of runs was damaged; it is made anew");
            }
            Err(error) => tracing::error!(%error, "the index of runs cannot be opened again"),
        }
    }

    fn transaction(&mut self) -> rusqlite::Result<()> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (run, row) in &self.changes {
            match row {
                Some(row) => row.write(*run, &transaction)?,
                None => row::delete(*run, &transaction)?,
            }
        }
        transaction.commit()
    }

    fn forget_beyond_what_is_kept(&mut self) {
        while self.changes.len() > self.kept {
            if let Some((run, _)) = self.changes.pop_first() {
                tracing::error!(%run, "a change of a run is not indexed before the next start");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate as database;
    use crate::run_index::fixture::record;
    use crate::run_index::schema::SCHEMA;
    use branchyard_model::RunRecord;

    fn writer(dir: &tempfile::TempDir, kept: usize) -> IndexWriter {
        let path = dir.path().join("yard.db");
        let (connection, _) = database::writable(&path, &SCHEMA).unwrap();
        let file = IndexFile::open(&path).unwrap();
        IndexWriter::new(connection, file, kept, Box::new(|| false))
    }

    fn change(writer: &mut IndexWriter, record: &RunRecord) {
        let row = Row::new(record, 0, true).unwrap();
        writer.changes.insert(record.run_id, Some(Box::new(row)));
        writer.write();
    }

    fn written(writer: &IndexWriter) -> Vec<String> {
        let mut rows = writer
            .connection
            .prepare("SELECT id FROM runs ORDER BY id")
            .unwrap();
        let ids = rows.query_map([], |row| row.get(0)).unwrap();
        ids.map(Result::unwrap).collect()
    }

    /// The database may not grow from here on: SQLite then fails as it does on a full disk.
    fn fill_disk(writer: &IndexWriter) {
        writer
            .connection
            .pragma_update(None, "max_page_count", 1)
            .unwrap();
    }

    fn empty_disk(writer: &IndexWriter) {
        writer
            .connection
            .pragma_update(None, "max_page_count", 1_000_000)
            .unwrap();
    }

    #[test]
    fn what_a_full_disk_refused_is_written_once_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(&dir, KEPT);
        let before = record();
        change(&mut writer, &before);
        fill_disk(&writer);
        let mut refused = Vec::new();
        while refused.len() < 20 {
            let mut run = record();
            run.reason = Some("long ".repeat(1000));
            change(&mut writer, &run);
            refused.push(run.run_id.to_string());
        }
        assert!(!writer.changes.is_empty(), "the disk was full");
        assert!(writer.connection.is_autocommit());
        empty_disk(&writer);
        let after = record();
        change(&mut writer, &after);
        let mut all = vec![before.run_id.to_string()];
        all.append(&mut refused);
        all.push(after.run_id.to_string());
        assert_eq!(written(&writer), all);
        assert!(writer.changes.is_empty());
    }

    #[test]
    fn room_is_asked_for_and_used_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(&dir, KEPT);
        let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let (path, counted) = (dir.path().join("yard.db"), asked.clone());
        // A lock of somebody else's stands for the full disk: it can be let go of from outside.
        writer.connection.busy_timeout(Duration::ZERO).unwrap();
        let other = Connection::open(path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        writer.make_room = Box::new(move || {
            let before = counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            if before == 1 {
                other.execute_batch("ROLLBACK").unwrap();
            }
            before < 2
        });
        let run = record();
        change(&mut writer, &run);
        assert_eq!(written(&writer), [run.run_id.to_string()]);
        assert_eq!(asked.load(std::sync::atomic::Ordering::SeqCst), 2);
        assert!(writer.changes.is_empty());
    }

    #[test]
    fn no_more_than_so_many_are_kept_while_nothing_can_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(&dir, 3);
        writer
            .connection
            .execute_batch("PRAGMA query_only = ON")
            .unwrap();
        let runs: Vec<_> = (0..10).map(|_| record()).collect();
        for run in &runs {
            change(&mut writer, run);
        }
        writer
            .connection
            .execute_batch("PRAGMA query_only = OFF")
            .unwrap();
        writer.write();
        let newest: Vec<_> = runs[7..].iter().map(|run| run.run_id.to_string()).collect();
        assert_eq!(written(&writer), newest);
    }
}
