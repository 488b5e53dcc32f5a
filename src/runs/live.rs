//! A run that has not ended, and what a viewer needs of any run.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio_stream::Stream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::audience::Audience;
use crate::journal::{Cursor, Extent, Reader, Sink, follow};
use crate::model::{ErrorKind, OnDisconnect, Problem, RunId, RunRecord};

#[derive(Debug)]
pub struct Live {
    pub id: RunId,
    pub(super) record: watch::Sender<RunRecord>,
    pub(super) extent: watch::Receiver<Extent>,
    pub(super) cancelled: CancellationToken,
    pub(super) cancel_reason: OnceLock<String>,
    pub(super) audience: Audience,
    pub(super) on_disconnect: OnDisconnect,
    pub(super) reconnect_grace: Duration,
    pub(super) tasks: TaskTracker,
    pub(super) runtime: Handle,
}

impl Live {
    pub fn record(&self) -> RunRecord {
        self.record.borrow().clone()
    }

    /// Stops the run, wherever it is on its way; the first reason given is the one told.
    pub fn cancel(&self, reason: &str) {
        self.cancel_reason.get_or_init(|| reason.to_owned());
        self.cancelled.cancel();
    }

    pub fn has_ended(&self) -> bool {
        self.record.borrow().state.is_ended()
    }

    /// Returns when the run has ended.
    pub async fn ended(&self) {
        // The sender is our own, so it cannot go while we wait.
        let _ = self
            .record
            .subscribe()
            .wait_for(|record| record.state.is_ended())
            .await;
    }
}

/// A run's journal, to be followed from any place in it.
#[derive(Debug, Clone)]
pub struct View {
    pub record: RunRecord,
    pub live: Option<Arc<Live>>,
    journal: PathBuf,
    extent: watch::Receiver<Extent>,
}

impl View {
    pub(super) fn of_live(live: Arc<Live>, journal: PathBuf) -> Self {
        Self {
            record: live.record(),
            extent: live.extent.clone(),
            live: Some(live),
            journal,
        }
    }

    pub(super) fn of_ended(record: RunRecord, journal: PathBuf) -> Result<Self, Problem> {
        // An ended journal is whole: a torn tail was cut when its run was given an end.
        let len = std::fs::metadata(&journal)
            .map_err(|error| unreadable(&error))?
            .len();
        let (_, extent) = watch::channel(Extent { len, closed: true });
        Ok(Self {
            record,
            live: None,
            journal,
            extent,
        })
    }

    /// Whether a viewer at `cursor` has seen all there will ever be.
    pub fn is_done(&self, cursor: Cursor) -> bool {
        let extent = *self.extent.borrow();
        extent.closed && cursor.frame == extent.len && cursor.within == 0
    }

    /// The journal from `cursor` on, through `sink`. Refused before anything is sent if the cursor is
    /// not of this run.
    pub async fn follow<S: Sink>(
        &self,
        cursor: Cursor,
        sink: S,
    ) -> Result<impl Stream<Item = std::io::Result<Bytes>> + Send + use<S>, Problem> {
        let (path, len) = (self.journal.clone(), self.extent.borrow().len);
        let reader = tokio::task::spawn_blocking(move || {
            let mut reader = Reader::open(&path)?;
            Ok(reader.seek(cursor, len)?.map(|()| reader))
        })
        .await
        .map_err(|error| unreadable(&error))?
        .map_err(|error: std::io::Error| unreadable(&error))??;
        Ok(follow(reader, self.extent.clone(), sink))
    }
}

fn unreadable(error: &dyn std::error::Error) -> Problem {
    Problem::new(
        ErrorKind::Internal,
        "journal_unreadable",
        format!("the run's journal cannot be read: {error}"),
    )
}
