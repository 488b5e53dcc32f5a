//! The audit: who did what, where, and what came of it; and whom the daemon refused. It only grows, until
//! records are old.
//!
//! A call that is to change something is noted before it begins, and its record takes the note's place when
//! it has ended. So no crash loses one: what is found noted at the next start is recorded as having come to
//! an unknown end. Nobody waits for the record itself, and a disk that takes nothing stops nobody; what is
//! lost then is logged and counted.

mod entry;
mod floods;
mod query;
mod record;
mod retention;
pub(super) mod tables;
mod writer;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use super::schema::SCHEMA;
use super::{Error, SecurityDb};
use crate as database;
use branchyard_runtime::background::Loops;
use writer::AuditChange;

pub use entry::AuditEntry;
pub use query::{Filter, Order};
pub use record::{AuditOutcome, Call, End, Record, Sender, Via};
pub use retention::{EXPIRED, MISSING, Retention};

/// How long a call waits for its note to be written, before it is refused.
const PATIENCE: Duration = Duration::from_secs(10);

/// The audit of the daemon; cheap to clone. Dropping the last one writes out what is still waiting.
#[derive(Debug, Clone)]
pub struct Audit(Arc<AuditInner>);

#[derive(Debug)]
struct AuditInner {
    path: PathBuf,
    reader: Mutex<Connection>,
    /// Of calls that have begun since the start.
    numbers: AtomicI64,
    /// Taken when the audit goes, which ends the writer.
    orders: Option<mpsc::Sender<writer::AuditOrder>>,
    writer: Option<JoinHandle<()>>,
}

impl Audit {
    /// The audit in the file that `trust` has opened, and takes up what the last daemon left unfinished. Where
    /// a write fails later, `make_room` is asked whether it could make any.
    pub fn open(
        trust: &SecurityDb,
        retention: Retention,
        loops: &Loops,
        make_room: impl FnMut() -> bool + Send + 'static,
    ) -> Result<Self, Error> {
        let path = trust.path();
        let failed = |source| Error::of(&SCHEMA, path, source);
        let mut connection = database::connect(path).map_err(failed)?;
        // A kill costs nothing. A power cut may cost the last second, for which nobody is to wait at every call.
        connection
            .pragma_update(None, "synchronous", "NORMAL")
            .map_err(failed)?;
        settle(&mut connection).map_err(failed)?;
        let reader = database::reader(path).map_err(failed)?;
        let (orders, inbox) = mpsc::channel();
        let writer = writer::spawn(
            connection,
            inbox,
            trust.tally(),
            retention,
            loops,
            Box::new(make_room),
        );
        let writer = writer.map_err(|source| Error::Thread {
            name: SCHEMA.name,
            source,
        })?;
        Ok(Self(Arc::new(AuditInner {
            path: path.to_owned(),
            reader: Mutex::new(reader),
            numbers: AtomicI64::new(1),
            orders: Some(orders),
            writer: Some(writer),
        })))
    }

    /// Takes note of a call that may change something, before it does. `None` where the note cannot be written: then
    /// it must not be done.
    pub async fn begin(&self, call: Call) -> Option<AuditEntry> {
        let number = self.0.numbers.fetch_add(1, Ordering::Relaxed);
        let call = call.bounded();
        self.change(AuditChange::Begin(number, call.clone()));
        // Whoever leaves while this waits leaves no note behind.
        let entry = AuditEntry::new(self.clone(), number, call);
        let written = tokio::time::timeout(PATIENCE, self.written()).await;
        if written.unwrap_or(false) {
            return Some(entry);
        }
        entry.forget();
        None
    }

    /// Records something that the daemon did by itself; returns at once.
    pub fn record(&self, call: Call, end: End) {
        self.change(AuditChange::Record(None, call.bounded(), end));
    }

    /// Records a refusal, or counts it where there are many; returns at once.
    pub fn refused(&self, call: Call, end: End) {
        count_refusal(&end);
        self.order(writer::AuditOrder::Refusal(call.bounded(), end));
    }

    /// Records by `filter`, at most `limit`, with everything that was recorded before. Blocks.
    pub fn page(&self, filter: &Filter, order: Order, limit: usize) -> Result<Vec<Record>, Error> {
        let (done, written) = oneshot::channel();
        self.order(writer::AuditOrder::Barrier(done));
        // Err means that the writer is gone, which was logged with the order.
        let _ = written.blocking_recv();
        let reader = self.0.reader.lock().unwrap_or_else(PoisonError::into_inner);
        query::page(&reader, filter, order, limit)
            .map_err(|source| Error::of(&SCHEMA, &self.0.path, source))
    }

    /// When everything that was ordered before was tried: whether it is written.
    async fn written(&self) -> bool {
        let (done, written) = oneshot::channel();
        self.order(writer::AuditOrder::Barrier(done));
        // Err means that the writer is gone, which was logged with the order.
        written.await.unwrap_or(false)
    }

    fn change(&self, change: AuditChange) {
        self.order(writer::AuditOrder::Change(change));
    }

    fn order(&self, order: writer::AuditOrder) {
        let orders = self.0.orders.as_ref();
        if orders.is_none_or(|orders| orders.send(order).is_err()) {
            tracing::error!("the writer of the audit is gone; restart the daemon");
        }
    }
}

impl Drop for AuditInner {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the writer of the audit failed");
        }
    }
}

/// Records what had begun when the daemon before this one ended.
fn settle(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let begun: Vec<String> = transaction
        .prepare("SELECT call FROM audit_begun ORDER BY number")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let end = End::new(AuditOutcome::Unknown)
        .code("daemon_ended")
        .detail("the daemon ended before it could say what came of it");
    for call in begun {
        match serde_json::from_str(&call) {
            Ok(call) => tables::write(&call, &end, &transaction)?,
            Err(error) => tracing::error!(%error, call, "a call of the last daemon cannot be read"),
        }
    }
    transaction.execute("DELETE FROM audit_begun", [])?;
    transaction.commit()
}

fn count_refusal(end: &End) {
    let kind = match end.status {
        Some(401) => "unauthorized",
        Some(403) => "forbidden",
        Some(404) => "out_of_bounds",
        Some(429) => "too_many",
        _ => "other",
    };
    metrics::counter!("branchyard_refusals_total", "kind" => kind).increment(1);
}
