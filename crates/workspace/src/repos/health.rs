//! What is known of how whole a store is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The same complaint twice within this time is not a reason to look through a whole store again.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Health {
    /// Something is known to be wrong with the store, which only the remote can help with.
    suspect: AtomicBool,
    /// When all of the store was last looked through.
    looked_at: Mutex<Option<Instant>>,
}

impl Health {
    pub(super) fn suspect(&self) {
        self.suspect.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_suspect(&self) -> bool {
        self.suspect.load(Ordering::Relaxed)
    }

    /// Whether it is suspect; it is not any more after that.
    pub(super) fn take_suspicion(&self) -> bool {
        self.suspect.swap(false, Ordering::Relaxed)
    }

    /// Whether all of it was looked through a short while ago. If not, it is taken to be now.
    pub(super) fn was_looked_at_lately(&self) -> bool {
        let mut looked = self.looked_at.lock();
        let lately = looked.is_some_and(|at| at.elapsed() < LOOK_AGAIN_AFTER);
        if !lately {
            *looked = Some(Instant::now());
        }
        lately
    }
}
