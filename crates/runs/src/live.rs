//! A run that has not ended.

use std::sync::atomic::AtomicUsize;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::coalesce::Coalescing;
use super::viewers::Viewers;
use branchyard_journal::Extent;
use branchyard_model::{RunId, RunRecord};

#[derive(Debug)]
pub struct Live {
    pub id: RunId,
    /// The principal by whose limits it counts.
    pub(super) account: String,
    pub(super) record: watch::Sender<RunRecord>,
    pub(super) extent: watch::Receiver<Extent>,
    pub viewers: Viewers,
    pub(super) company: Coalescing,
    /// How many come first, as it was last told.
    pub(super) position: AtomicUsize,
    /// The daemon goes and leaves the run to its supervisor and the next daemon.
    pub(super) leaving: CancellationToken,
}

impl Live {
    pub fn record(&self) -> RunRecord {
        self.record.borrow().clone()
    }

    pub fn has_ended(&self) -> bool {
        self.record.borrow().state.is_ended()
    }

    /// Returns when the run has ended, or when the daemon leaves it.
    pub async fn ended(&self) {
        let mut record = self.record.subscribe();
        tokio::select! {
            // The sender is our own, so it cannot go while we wait.
            _ = record.wait_for(|record| record.state.is_ended()) => {}
            () = self.leaving.cancelled() => {}
        }
    }
}
