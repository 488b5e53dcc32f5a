//! The audit: who did what, where, and what came of it; and whom the daemon refused. It only grows, until
//! records are old.
//!
//! A call that is to change something is noted before it begins, and its record takes the note's place when
//! it has ended. So no crash loses one: what is found noted at the next start is recorded as having come to
//! an unknown end. Nobody waits for the record itself, and a disk that takes nothing stops nobody; what is
//! lost then is logged and counted.

mod duties;
mod entry;
mod floods;
mod query;
mod record;
mod retention;
pub(super) mod tables;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, TransactionBehavior};

use super::schema::SCHEMA;
use super::{Error, SecurityDb};
use crate::database::Database;
use crate::open::connect;
use branchyard_runtime::background::Loops;
use duties::AuditDuties;
use floods::Floods;

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
    database: Database,
    floods: Arc<Mutex<Floods>>,
    /// Of calls that have begun since the start.
    numbers: AtomicI64,
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
        let path = trust.0.database.path();
        let failed = |source| Error::of(&SCHEMA, path, source);
        let mut connection = connect(path).map_err(failed)?;
        // A kill costs nothing. A power cut may cost the last second, for which no call is to wait.
        connection
            .pragma_update(None, "synchronous", "NORMAL")
            .map_err(failed)?;
        settle(&mut connection).map_err(failed)?;
        let floods = Arc::new(Mutex::new(Floods::new()));
        let tally = trust.0.tally.clone();
        let duties = AuditDuties::new(make_room, tally, floods.clone(), retention);
        let names = ("audit", "audit");
        let database = Database::start(names, connection, (path, &SCHEMA), loops, duties)?;
        Ok(Self(Arc::new(AuditInner {
            database,
            floods,
            numbers: AtomicI64::new(1),
        })))
    }

    /// Takes note of a call that may change something, before it does. `None` where the note cannot be written: then
    /// it must not be done.
    pub async fn begin(&self, call: Call) -> Option<AuditEntry> {
        let number = self.0.numbers.fetch_add(1, Ordering::Relaxed);
        let call = call.bounded();
        let (database, note) = (&self.0.database, call.clone());
        let noted = database.write(move |to| tables::begin(number, &note, to));
        // A caller who leaves while this waits leaves no note behind.
        let entry = AuditEntry::new(self.clone(), number, call);
        if let Ok(Ok(())) = tokio::time::timeout(PATIENCE, noted).await {
            return Some(entry);
        }
        entry.forget();
        None
    }

    /// Records something that the daemon did by itself; returns at once.
    pub fn record(&self, call: Call, end: End) {
        self.put(None, call, end);
    }

    /// Records a refusal, or counts it where there are many; returns at once.
    pub fn refused(&self, call: Call, end: End) {
        count_refusal(&end);
        let mut floods = self.0.floods.lock();
        match floods.take(call.bounded(), end) {
            Some((call, end)) => self.put(None, call, end),
            None => self.0.database.wake(),
        }
    }

    /// Records by `filter`, at most `limit`, with everything that was recorded before. Blocks.
    pub fn page(&self, filter: &Filter, order: Order, limit: usize) -> Result<Vec<Record>, Error> {
        let database = &self.0.database;
        database.catch_up();
        database.read(|from| query::page(from, filter, order, limit))
    }

    /// What came of a call, and of which that had begun.
    fn put(&self, number: Option<i64>, call: Call, end: End) {
        let call = call.bounded();
        self.0.database.note(move |to| {
            if let Some(number) = number {
                tables::forget(number, to)?;
            }
            tables::write(&call, &end, to)
        });
    }

    /// A call that had begun changed nothing after all, or is recorded otherwise.
    fn forget(&self, number: i64) {
        self.0.database.note(move |to| tables::forget(number, to));
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
