//! Who watches a run, and what it means when nobody does any more: an aborted CI step should stop
//! its build, a reconnecting viewer should not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::live::Live;
use crate::model::OnDisconnect;

#[derive(Debug, Default)]
pub(super) struct Audience(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    viewers: usize,
    initiator_left: bool,
    /// Rises with every arrival, so that a grace period knows whether anyone came meanwhile.
    arrivals: u64,
}

/// A viewer's seat; leaving it may end the run.
#[derive(Debug)]
pub struct Seat {
    run: Arc<Live>,
    initiator: bool,
}

impl Audience {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Live {
    /// Takes a seat, as the one who asked for the run or as anyone else.
    pub fn sit(self: &Arc<Self>, initiator: bool) -> Seat {
        let mut state = self.audience.lock();
        state.viewers += 1;
        state.arrivals += 1;
        Seat {
            run: self.clone(),
            initiator,
        }
    }

    /// How many watch right now.
    pub fn viewers(&self) -> usize {
        self.audience.lock().viewers
    }

    fn abandoned_since(&self, arrivals: u64) -> bool {
        let state = self.audience.lock();
        state.viewers == 0 && state.arrivals == arrivals
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let run = &self.run;
        let arrivals = {
            let mut state = run.audience.lock();
            state.viewers -= 1;
            state.initiator_left |= self.initiator;
            let forsaken = state.viewers == 0 && state.initiator_left;
            if !forsaken || run.on_disconnect != OnDisconnect::Cancel || run.has_ended() {
                return;
            }
            state.arrivals
        };
        let run = run.clone();
        let grace = run.reconnect_grace;
        let patience = async move {
            tokio::select! {
                () = tokio::time::sleep(grace) => {
                    if run.abandoned_since(arrivals) {
                        run.cancel("the one who asked went away and nobody else was watching");
                    }
                }
                () = run.ended() => {}
            }
        };
        self.run.tasks.spawn_on(patience, &self.run.runtime);
    }
}
