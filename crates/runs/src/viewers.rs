//! Who watches a run or a group, and what it means when nobody does any more: an aborted CI step
//! should stop its build, a reconnecting viewer should not.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use branchyard_journal::SharedReader;
use branchyard_model::OnDisconnect;

/// The viewers of something that can be stopped; clones are the same audience.
#[derive(Debug, Clone)]
pub struct Viewers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<ViewersState>,
    stop: CancellationToken,
    reason: OnceLock<String>,
    /// It has ended, so nobody's going means anything.
    over: CancellationToken,
    /// For those who went to come back.
    grace: Duration,
    tasks: TaskTracker,
    runtime: Handle,
    stage: SharedReader,
}

#[derive(Debug)]
struct ViewersState {
    viewers: usize,
    initiator_left: bool,
    /// Rises with every arrival, so that a grace period knows whether anyone came meanwhile.
    arrivals: u64,
    on_disconnect: OnDisconnect,
}

/// A viewer's seat; leaving it may end what is watched.
#[derive(Debug)]
pub struct ViewerGuard {
    viewers: Viewers,
    initiator: bool,
}

impl Viewers {
    pub fn new(on_disconnect: OnDisconnect, grace: Duration, tasks: TaskTracker) -> Self {
        Self(Arc::new(Inner {
            state: Mutex::new(ViewersState {
                viewers: 0,
                initiator_left: false,
                arrivals: 0,
                on_disconnect,
            }),
            stop: CancellationToken::new(),
            reason: OnceLock::new(),
            over: CancellationToken::new(),
            grace,
            tasks,
            runtime: Handle::current(),
            stage: SharedReader::default(),
        }))
    }

    /// Takes a seat, as the one who asked for it or as anyone else.
    pub fn join(&self, initiator: bool) -> ViewerGuard {
        let mut state = self.0.state.lock();
        state.viewers += 1;
        state.arrivals += 1;
        ViewerGuard {
            viewers: self.clone(),
            initiator,
        }
    }

    /// Where those who watch find what they share.
    pub(super) fn stage(&self) -> SharedReader {
        self.0.stage.clone()
    }

    /// How many watch right now.
    pub(super) fn viewers(&self) -> usize {
        self.0.state.lock().viewers
    }

    /// Has it stopped, wherever it is on its way; the first reason given is the one told.
    pub fn stop(&self, reason: &str) {
        self.0.reason.get_or_init(|| reason.to_owned());
        self.0.stop.cancel();
    }

    pub fn reason(&self) -> Option<&String> {
        self.0.reason.get()
    }

    pub fn is_stopped(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// Returns when it is to stop.
    pub async fn stopped(&self) {
        self.0.stop.cancelled().await;
    }

    /// It goes on from now on whoever watches.
    pub(super) fn keep_going(&self) {
        self.0.state.lock().on_disconnect = OnDisconnect::Continue;
    }

    /// Returns when it has ended.
    pub async fn closed(&self) {
        self.0.over.cancelled().await;
    }

    /// It has ended.
    pub fn close(&self) {
        self.0.over.cancel();
    }

    fn is_abandoned(&self) -> bool {
        let state = self.0.state.lock();
        state.viewers == 0 && state.initiator_left && state.on_disconnect == OnDisconnect::Cancel
    }
}

impl Drop for ViewerGuard {
    fn drop(&mut self) {
        let viewers = &self.viewers;
        let arrivals = {
            let mut state = viewers.0.state.lock();
            state.viewers -= 1;
            state.initiator_left |= self.initiator;
            state.arrivals
        };
        if !viewers.is_abandoned() || viewers.0.over.is_cancelled() {
            return;
        }
        let forsaken = viewers.clone();
        let patience = async move {
            tokio::select! {
                () = tokio::time::sleep(forsaken.0.grace) => {
                    if forsaken.is_abandoned() && forsaken.0.state.lock().arrivals == arrivals {
                        forsaken.stop("the one who asked went away and nobody else was watching");
                    }
                }
                () = forsaken.0.over.cancelled() => {}
            }
        };
        viewers.0.tasks.spawn_on(patience, &viewers.0.runtime);
    }
}
