//! A run that has not ended.

use std::io;
use std::sync::atomic::AtomicUsize;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::coalescing::Coalescing;
use super::viewers::Viewers;
use branchyard_journal::diagnostics::Diagnostics;
use branchyard_journal::{Extent, RunningDiagnostics};
use branchyard_model::{RunId, RunRecord, RunState};

#[derive(Debug)]
pub struct Live {
    id: RunId,
    /// The principal by whose limits it counts.
    account: String,
    record: watch::Sender<RunRecord>,
    extent: watch::Receiver<Extent>,
    viewers: Viewers,
    company: Coalescing,
    /// How many come first, as it was last told.
    position: AtomicUsize,
    /// What its output complained about so far, once a caller asked.
    diagnostics: Mutex<Option<RunningDiagnostics>>,
    /// The daemon goes and leaves the run to its supervisor and the next daemon.
    leaving: CancellationToken,
}

impl Live {
    pub(super) fn new(
        record: RunRecord,
        account: String,
        extent: watch::Receiver<Extent>,
        viewers: Viewers,
        leaving: CancellationToken,
    ) -> Self {
        Self {
            id: record.run_id,
            account,
            record: watch::channel(record).0,
            extent,
            viewers,
            company: Coalescing::default(),
            position: AtomicUsize::default(),
            diagnostics: Mutex::default(),
            leaving,
        }
    }

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

    /// Returns when there is something to answer its caller: the end; or, of a command in the background, that it is ready.
    pub async fn answered(&self) {
        let mut record = self.record.subscribe();
        tokio::select! {
            _ = record.wait_for(|record| record.state.is_ended() || record.ready_at.is_some()) => {}
            () = self.leaving.cancelled() => {}
        }
    }

    /// Returns once the command runs: true; or once it is clear that it will not, or not under this daemon.
    pub async fn command_begins(&self) -> bool {
        let mut record = self.record.subscribe();
        let begun = record
            .wait_for(|record| matches!(record.state, RunState::Running | RunState::Ended(_)));
        tokio::select! {
            begun = begun => begun.is_ok_and(|record| record.state == RunState::Running),
            () = self.leaving.cancelled() => false,
        }
    }

    pub fn id(&self) -> RunId {
        self.id
    }

    pub(super) fn account(&self) -> &str {
        &self.account
    }

    /// The record without a copy. A change to it waits for as long as the caller holds this.
    pub(super) fn look(&self) -> watch::Ref<'_, RunRecord> {
        self.record.borrow()
    }

    pub(super) fn watch(&self) -> watch::Receiver<RunRecord> {
        self.record.subscribe()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut RunRecord)) {
        self.record.send_modify(change);
    }

    pub(super) fn extent(&self) -> &watch::Receiver<Extent> {
        &self.extent
    }

    pub fn viewers(&self) -> &Viewers {
        &self.viewers
    }

    /// Errors and warnings in what it printed so far; `open` begins to read, at the first look. Blocks.
    pub(super) fn diagnostics(
        &self,
        open: impl FnOnce() -> io::Result<RunningDiagnostics>,
    ) -> io::Result<Diagnostics> {
        let mut running = self.diagnostics.lock();
        let running = match &mut *running {
            Some(running) => running,
            none => none.insert(open()?),
        };
        running.up_to(self.extent.borrow().len)
    }

    pub(super) fn company(&self) -> &Coalescing {
        &self.company
    }

    pub(super) fn position(&self) -> &AtomicUsize {
        &self.position
    }

    pub(super) fn leaving(&self) -> &CancellationToken {
        &self.leaving
    }
}
