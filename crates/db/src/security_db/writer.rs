//! The one thread that writes. Whatever is waiting goes into one transaction, so that a burst costs one
//! commit; where that fails, each change is tried alone, so that nobody fails for another's sake.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::oneshot;

use super::tally::Tally;
use branchyard_runtime::background::Loops;

/// How many changes one transaction takes at most, so that nobody waits long.
const BATCH: usize = 1000;
/// How many changes that nobody waits for are kept while they cannot be written.
const KEPT: usize = 10_000;
/// How long after a failure they are tried again, if nobody orders anything.
const TRY_AGAIN: Duration = Duration::from_secs(1);

pub(super) type Change = Box<dyn FnMut(&Connection) -> rusqlite::Result<()> + Send>;
pub(super) type Done = oneshot::Sender<rusqlite::Result<()>>;
/// Makes room on a full disk; false where that cannot be, or would not help.
pub(super) type MakeRoom = Box<dyn FnMut() -> bool + Send>;

pub(super) struct Order {
    pub(super) change: Change,
    /// Whoever waits for it. They are told of a failure, and the change is dropped.
    pub(super) done: Option<Done>,
}

/// Ends, after a last attempt to write, when nobody can order any more.
pub(super) fn spawn(
    connection: Connection,
    inbox: Receiver<Order>,
    tally: Tally,
    loops: &Loops,
    make_room: MakeRoom,
) -> std::io::Result<JoinHandle<()>> {
    let mut writer = Writer {
        connection,
        tally,
        make_room,
    };
    loops.keep_thread("trust", move || writer.serve(&inbox))
}

struct Writer {
    connection: Connection,
    tally: Tally,
    make_room: MakeRoom,
}

impl Writer {
    fn serve(&mut self, inbox: &Receiver<Order>) {
        let mut waiting = Vec::new();
        while let Ok(first) = next(inbox, waiting.is_empty()) {
            waiting.extend(first);
            waiting.extend(inbox.try_iter().take(BATCH));
            waiting = self.write(waiting);
        }
        let lost = self.write(waiting).len();
        if lost > 0 {
            tracing::error!(lost, "some of the trust database was never written");
        }
    }

    /// Returns what is to be tried again.
    fn write(&mut self, mut orders: Vec<Order>) -> Vec<Order> {
        if self.transaction(&mut orders).is_ok() {
            for order in orders {
                order.answer(Ok(()));
            }
            return Vec::new();
        }
        let mut left = Vec::new();
        for mut order in orders {
            let mut written = self.transaction(std::slice::from_mut(&mut order));
            while written.as_ref().is_err_and(is_no_ones_fault) && (self.make_room)() {
                written = self.transaction(std::slice::from_mut(&mut order));
            }
            match written {
                Err(error) if order.done.is_none() && is_no_ones_fault(&error) => {
                    tracing::error!(%error, "failed to write the trust database; it is tried again");
                    left.push(order);
                }
                Err(error) if order.done.is_none() => {
                    tracing::error!(%error, "the trust database does not take a change");
                }
                written => order.answer(written),
            }
        }
        if left.len() > KEPT {
            let lost = left.len() - KEPT;
            left.drain(..lost);
            tracing::error!(lost, "changes of the trust database are given up");
        }
        left
    }

    fn transaction(&mut self, orders: &mut [Order]) -> rusqlite::Result<()> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for order in orders {
            (order.change)(&transaction)?;
        }
        transaction.commit()?;
        self.tally.follow(&self.connection);
        Ok(())
    }
}

/// Waits for an order; where something is to be tried again, no longer than until that is due.
fn next(inbox: &Receiver<Order>, nothing_left: bool) -> Result<Option<Order>, RecvTimeoutError> {
    if nothing_left {
        return Ok(Some(inbox.recv()?));
    }
    match inbox.recv_timeout(TRY_AGAIN) {
        Err(RecvTimeoutError::Timeout) => Ok(None),
        order => order.map(Some),
    }
}

impl Order {
    fn answer(self, written: rusqlite::Result<()>) {
        if let Some(done) = self.done {
            // Whoever waited may have gone.
            let _ = done.send(written);
        }
    }
}

/// Whether the same change could succeed another time.
fn is_no_ones_fault(error: &rusqlite::Error) -> bool {
    error
        .sqlite_error_code()
        .is_some_and(|code| code != ErrorCode::ConstraintViolation)
}
