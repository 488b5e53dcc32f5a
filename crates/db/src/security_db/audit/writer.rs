//! The one thread that writes the audit. Whatever is waiting goes into one transaction, so that a burst
//! costs one commit.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use branchyard_runtime::background::Loops;

use super::floods::Floods;
use super::record::{Call, End};
use super::retention::{self, Retention};
use super::tables;
use crate::security_db::tally::Tally;

/// How many changes one transaction takes at most, so that nobody waits long.
const BATCH: usize = 1000;
/// How many changes are kept while they cannot be written; beyond it the oldest are lost.
const KEPT: usize = 10_000;
/// How long after a failure they are tried again, if nobody orders anything.
const TRY_AGAIN: Duration = Duration::from_secs(1);
/// How often it is looked for records that are too old or too many.
const BETWEEN_EXPIRIES: Duration = Duration::from_secs(60 * 60);

/// Makes room on a full disk; false where that cannot be, or would not help.
pub(super) type MakeRoom = Box<dyn FnMut() -> bool + Send>;

pub(super) enum AuditOrder {
    Change(AuditChange),
    /// A refusal, unless there are too many of them.
    Refusal(Call, End),
    /// Answered when everything before it was tried: whether it is written.
    Barrier(oneshot::Sender<bool>),
}

#[derive(Debug)]
pub(super) enum AuditChange {
    /// A call is about to be made.
    Begin(i64, Call),
    /// It changed nothing after all, or is recorded otherwise.
    Forget(i64),
    /// What came of a call, and of which that had begun.
    Record(Option<i64>, Call, End),
}

/// Ends, after a last attempt to write, when nobody can order any more.
pub(super) fn spawn(
    connection: Connection,
    inbox: Receiver<AuditOrder>,
    tally: Tally,
    retention: Retention,
    loops: &Loops,
    make_room: MakeRoom,
) -> std::io::Result<JoinHandle<()>> {
    let mut writer = Writer::new(connection, tally, retention, make_room);
    loops.keep_thread("audit", move || writer.serve(&inbox))
}

pub(super) struct Writer {
    connection: Connection,
    tally: Tally,
    changes: VecDeque<AuditChange>,
    /// Some of `changes` could not be written.
    is_stuck: bool,
    floods: Floods,
    retention: Retention,
    next_expiry: Instant,
    make_room: MakeRoom,
}

impl Writer {
    pub(super) fn new(
        connection: Connection,
        tally: Tally,
        retention: Retention,
        make_room: MakeRoom,
    ) -> Self {
        Self {
            connection,
            tally,
            changes: VecDeque::new(),
            is_stuck: false,
            floods: Floods::new(),
            retention,
            next_expiry: Instant::now(),
            make_room,
        }
    }

    fn serve(&mut self, inbox: &Receiver<AuditOrder>) {
        while let Ok(first) = self.next(inbox) {
            let mut waiting = Vec::new();
            for order in first.into_iter().chain(inbox.try_iter().take(BATCH)) {
                match order {
                    AuditOrder::Change(change) => self.changes.push_back(change),
                    AuditOrder::Refusal(call, end) => self.refused(call, end),
                    AuditOrder::Barrier(done) => waiting.push(done),
                }
            }
            self.tell_floods(false);
            self.write();
            for done in waiting {
                // Whoever waited may have gone.
                let _ = done.send(!self.is_stuck);
            }
            self.expire();
        }
        self.tell_floods(true);
        self.write();
        if !self.changes.is_empty() {
            lost(self.changes.len());
        }
    }

    /// Waits for an order, or until something is due.
    fn next(&self, inbox: &Receiver<AuditOrder>) -> Result<Option<AuditOrder>, RecvTimeoutError> {
        let now = Instant::now();
        let due = [
            Some(self.next_expiry),
            self.floods.due(),
            self.is_stuck.then(|| now + TRY_AGAIN),
        ];
        let due = due.into_iter().flatten().min().unwrap_or(now);
        match inbox.recv_timeout(due.saturating_duration_since(now)) {
            Err(RecvTimeoutError::Timeout) => Ok(None),
            order => order.map(Some),
        }
    }

    fn refused(&mut self, call: Call, end: End) {
        if let Some((call, end)) = self.floods.take(call, end) {
            self.changes.push_back(AuditChange::Record(None, call, end));
        }
    }

    fn tell_floods(&mut self, at_once: bool) {
        let told = self.floods.tell(Instant::now(), at_once);
        let told = told.into_iter();
        self.changes
            .extend(told.map(|(call, end)| AuditChange::Record(None, call, end)));
    }

    /// Writes all changes or none. What failed is tried again with what comes next; meanwhile what is to be
    /// recorded goes on, for a full disk must not stop the yard.
    pub(super) fn write(&mut self) {
        if self.changes.is_empty() {
            return;
        }
        let mut written = self.transaction();
        while written.is_err() && (self.make_room)() {
            written = self.transaction();
        }
        self.is_stuck = written.is_err();
        let Err(error) = written else {
            self.changes.clear();
            return;
        };
        let waiting = self.changes.len();
        tracing::error!(%error, waiting, "failed to write the audit; it is tried again");
        if waiting > KEPT {
            self.changes.drain(..waiting - KEPT);
            lost(waiting - KEPT);
        }
    }

    fn transaction(&mut self) -> rusqlite::Result<()> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for change in &self.changes {
            change.write(&transaction)?;
        }
        transaction.commit()?;
        self.tally.follow(&self.connection);
        Ok(())
    }

    fn expire(&mut self) {
        if Instant::now() < self.next_expiry {
            return;
        }
        self.next_expiry = Instant::now() + BETWEEN_EXPIRIES;
        if let Err(error) = self.try_expire() {
            tracing::error!(%error, "old records of the audit stay for now");
        }
    }

    pub(super) fn try_expire(&mut self) -> rusqlite::Result<()> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let now = self.retention.clock.now();
        retention::expire(&transaction, &self.retention, now)?;
        transaction.commit()?;
        self.tally.follow(&self.connection);
        Ok(())
    }
}

#[cfg(test)]
impl Writer {
    pub(super) fn put(&mut self, change: AuditChange) {
        self.changes.push_back(change);
    }

    pub(super) fn waiting(&self) -> usize {
        self.changes.len()
    }

    pub(super) fn pragma(&self, name: &str, value: i64) {
        self.connection.pragma_update(None, name, value).unwrap();
    }
}

impl AuditChange {
    fn write(&self, to: &Connection) -> rusqlite::Result<()> {
        match self {
            Self::Begin(number, call) => {
                let call = serde_json::to_string(call)
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
                to.prepare_cached("INSERT OR REPLACE INTO audit_begun VALUES (?, ?)")?
                    .execute((number, call))?;
            }
            Self::Forget(number) => forget(*number, to)?,
            Self::Record(number, call, end) => {
                if let Some(number) = number {
                    forget(*number, to)?;
                }
                tables::write(call, end, to)?;
            }
        }
        Ok(())
    }
}

fn forget(number: i64, to: &Connection) -> rusqlite::Result<()> {
    to.prepare_cached("DELETE FROM audit_begun WHERE number = ?")?
        .execute([number])?;
    Ok(())
}

fn lost(changes: usize) {
    tracing::error!(changes, "part of the audit is lost");
    metrics::counter!("branchyard_audit_lost_total").increment(changes as u64);
}
