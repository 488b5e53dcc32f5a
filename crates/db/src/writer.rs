//! The one thread that writes a database. Whatever is waiting goes into one transaction, so that a burst costs one
//! commit; where that fails, each change is tried alone, so that none fails for the sake of another.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use crate::file::DbFile;

/// How many orders one transaction takes at most, so that a caller who waits for one waits briefly.
const BATCH: usize = 1000;
/// How many changes that no caller waits for are kept while they cannot be written. Beyond it the oldest are lost.
pub(crate) const KEPT: usize = 10_000;
/// How long after a failure they are tried again, if no order comes.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// It may be made more than once.
pub(crate) type Change = Box<dyn FnMut(&Connection) -> rusqlite::Result<()> + Send>;
type Done = Box<dyn FnOnce(rusqlite::Result<()>) + Send>;

/// What the thread does besides writing what it is handed.
pub(crate) trait Duties: Send + 'static {
    /// Makes room on a full disk; false where that cannot be, or would not help.
    fn make_room(&mut self) -> bool;

    /// A transaction was committed.
    fn committed(&mut self, _connection: &Connection) {}

    /// When changes of its own are due, whether an order comes or not.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// The changes of its own that are due by now; at the end also those that would be due later.
    fn take_due(&mut self, _is_end: bool) -> Vec<Change> {
        Vec::new()
    }

    /// So many changes were given up, which was logged.
    fn lost(&mut self, _changes: usize) {}
}

impl<F: FnMut() -> bool + Send + 'static> Duties for F {
    fn make_room(&mut self) -> bool {
        self()
    }
}

/// A change, and who is told what became of it. Without a change it is answered when everything before it was tried.
/// A change whose failure is told is dropped then; that of another is logged, and it is tried again.
pub(crate) struct Order {
    change: Option<Change>,
    done: Option<Done>,
}

impl Order {
    pub(crate) fn new(change: Option<Change>, done: Option<Done>) -> Self {
        Self { change, done }
    }

    fn answer(self, written: rusqlite::Result<()>) {
        if let Some(done) = self.done {
            done(written);
        }
    }
}

pub(crate) struct Writer<D> {
    name: &'static str,
    connection: Connection,
    file: Arc<DbFile>,
    waiting: Vec<Order>,
    kept: usize,
    duties: D,
}

impl<D: Duties> Writer<D> {
    pub(crate) fn new(
        name: &'static str,
        connection: Connection,
        file: Arc<DbFile>,
        kept: usize,
        duties: D,
    ) -> Self {
        Self {
            name,
            connection,
            file,
            waiting: Vec::new(),
            kept,
            duties,
        }
    }

    /// Ends, after a last attempt to write, when no order can come any more.
    pub(crate) fn serve(&mut self, inbox: &Receiver<Order>) {
        while let Ok(first) = self.next(inbox) {
            self.waiting.extend(first);
            self.waiting.extend(inbox.try_iter().take(BATCH));
            self.take_due(false);
            self.write();
        }
        self.take_due(true);
        self.write();
        self.keep_at_most(0);
    }

    /// Waits for an order, or until something is due.
    fn next(&self, inbox: &Receiver<Order>) -> Result<Option<Order>, RecvTimeoutError> {
        let now = Instant::now();
        let try_again = (!self.waiting.is_empty()).then(|| now + TRY_AGAIN);
        let Some(due) = [try_again, self.duties.due()].into_iter().flatten().min() else {
            return Ok(Some(inbox.recv()?));
        };
        match inbox.recv_timeout(due.saturating_duration_since(now)) {
            Err(RecvTimeoutError::Timeout) => Ok(None),
            order => order.map(Some),
        }
    }

    fn take_due(&mut self, is_end: bool) {
        let due = self.duties.take_due(is_end).into_iter();
        self.waiting
            .extend(due.map(|change| Order::new(Some(change), None)));
    }

    /// What could not be written goes on waiting. Where that is not a change's own fault, no other need be tried.
    fn write(&mut self) {
        let mut orders = std::mem::take(&mut self.waiting);
        if self.attempt(&mut orders).is_ok() {
            for order in orders {
                order.answer(Ok(()));
            }
            return;
        }
        let mut is_stuck = false;
        for mut order in orders {
            if is_stuck && order.done.is_none() {
                self.waiting.push(order);
                continue;
            }
            let written = self.attempt(std::slice::from_mut(&mut order));
            match written {
                Err(error) if order.done.is_none() => {
                    tracing::error!(%error, "failed to write the {}; it is tried again", self.name);
                    is_stuck |= is_of_file(&error);
                    self.waiting.push(order);
                }
                written => order.answer(written),
            }
        }
        self.keep_at_most(self.kept);
    }

    /// Gives up the oldest of what is waiting.
    fn keep_at_most(&mut self, kept: usize) {
        let lost = self.waiting.len().saturating_sub(kept);
        if lost > 0 {
            self.waiting.drain(..lost);
            tracing::error!(lost, "changes of the {} are given up", self.name);
            self.duties.lost(lost);
        }
    }

    /// Makes all changes or none; again after what was wrong with the file or the disk could be mended.
    fn attempt(&mut self, orders: &mut [Order]) -> rusqlite::Result<()> {
        let mut written = self.transaction(orders);
        if let Err(error) = &written
            && self.file.mend(&mut self.connection, error)
        {
            written = self.transaction(orders);
        }
        while written.as_ref().is_err_and(is_of_file) && self.duties.make_room() {
            written = self.transaction(orders);
        }
        written
    }

    fn transaction(&mut self, orders: &mut [Order]) -> rusqlite::Result<()> {
        let mut changes = orders
            .iter_mut()
            .filter_map(|order| order.change.as_mut())
            .peekable();
        if changes.peek().is_none() {
            return Ok(());
        }
        let (connection, behavior) = (&mut self.connection, TransactionBehavior::Immediate);
        let transaction = connection.transaction_with_behavior(behavior)?;
        for change in changes {
            change(&transaction)?;
        }
        transaction.commit()?;
        self.duties.committed(&self.connection);
        Ok(())
    }
}

/// Whether the file or the disk is at fault, and so any change would fail.
fn is_of_file(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    code.is_some_and(|code| code != ErrorCode::ConstraintViolation)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use rusqlite_migration::{M, Migrations};

    use super::*;
    use crate::{Durability, Newer, Schema, writable};

    const VERSIONS: &[M<'static>] = &[M::up(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;",
    )];

    static SCHEMA: Schema = Schema {
        name: "test",
        anew: "",
        migrations: Migrations::from_slice(VERSIONS),
        statements: &[],
        durability: Durability::Rebuilt,
        newer: Newer::SetAside,
    };

    type MakeRoom = Box<dyn FnMut() -> bool + Send>;

    fn writer(dir: &tempfile::TempDir, kept: usize) -> Writer<MakeRoom> {
        let path = dir.path().join("test.db");
        let (connection, _) = writable(&path, &SCHEMA).unwrap();
        let file = Arc::new(DbFile::open(&path, &SCHEMA).unwrap());
        Writer::new("test", connection, file, kept, Box::new(|| false))
    }

    fn change(writer: &mut Writer<MakeRoom>, id: u32, text: &str) {
        let text = text.to_owned();
        let insert: Change = Box::new(move |to| {
            to.execute("INSERT INTO notes VALUES (?, ?)", (id, &text))
                .map(drop)
        });
        writer.waiting.push(Order::new(Some(insert), None));
        writer.write();
    }

    fn written(writer: &Writer<MakeRoom>) -> Vec<u32> {
        let mut rows = writer.connection.prepare("SELECT id FROM notes").unwrap();
        let ids = rows.query_map([], |row| row.get(0)).unwrap();
        ids.map(Result::unwrap).collect()
    }

    fn pragma(writer: &Writer<MakeRoom>, name: &str, value: u32) {
        writer.connection.pragma_update(None, name, value).unwrap();
    }

    #[test]
    fn what_a_full_disk_refused_is_written_once_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(&dir, KEPT);
        change(&mut writer, 0, "before");
        // The database may not grow from here on: SQLite then fails as it does on a full disk.
        pragma(&writer, "max_page_count", 1);
        for id in 1..=20 {
            change(&mut writer, id, &"long ".repeat(1000));
        }
        assert!(!writer.waiting.is_empty(), "the disk was full");
        assert!(writer.connection.is_autocommit());
        pragma(&writer, "max_page_count", 1_000_000);
        change(&mut writer, 21, "after");
        assert_eq!(written(&writer), (0..=21).collect::<Vec<_>>());
        assert!(writer.waiting.is_empty());
    }

    #[test]
    fn room_is_asked_for_and_used_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(&dir, KEPT);
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = asked.clone();
        // A lock of another connection stands for the full disk: it can be let go of from outside.
        writer.connection.busy_timeout(Duration::ZERO).unwrap();
        let other = Connection::open(dir.path().join("test.db")).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        writer.duties = Box::new(move || {
            let before = counted.fetch_add(1, Ordering::SeqCst);
            if before == 1 {
                other.execute_batch("ROLLBACK").unwrap();
            }
            before < 2
        });
        change(&mut writer, 1, "");
        assert_eq!(written(&writer), [1]);
        assert_eq!(asked.load(Ordering::SeqCst), 2);
        assert!(writer.waiting.is_empty());
    }

    #[test]
    fn no_more_than_so_many_are_kept_while_nothing_can_be_written() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(&dir, 3);
        pragma(&writer, "query_only", 1);
        for id in 0..10 {
            change(&mut writer, id, "");
        }
        pragma(&writer, "query_only", 0);
        writer.write();
        assert_eq!(written(&writer), [7, 8, 9]);
    }

    #[test]
    fn a_change_that_cannot_be_made_holds_up_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = writer(&dir, KEPT);
        pragma(&writer, "query_only", 1);
        for id in [1, 1, 2] {
            change(&mut writer, id, "");
        }
        pragma(&writer, "query_only", 0);
        writer.write();
        assert_eq!(written(&writer), [1, 2]);
        assert_eq!(writer.waiting.len(), 1);
    }
}
