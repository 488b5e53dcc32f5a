//! Who wants the same run.

use parking_lot::Mutex;

/// Who wants a run, and whether more may still want it without a question.
#[derive(Debug)]
pub(super) struct Coalescing(Mutex<Askers>);

#[derive(Debug)]
struct Askers {
    askers: usize,
    /// The run has not looked at the remote yet.
    open: bool,
    /// A second caller joined: what the remote said before that is too old for them.
    joined: bool,
}

impl Default for Coalescing {
    fn default() -> Self {
        Self(Mutex::new(Askers {
            askers: 1,
            open: true,
            joined: false,
        }))
    }
}

impl Coalescing {
    /// The run is about to ask the remote. Returns whether another caller joined it so far.
    pub(super) fn close(&self) -> bool {
        let mut state = self.0.lock();
        state.open = false;
        state.joined
    }

    /// One of those who asked does not want it any more. Returns how many are left.
    pub(super) fn leave(&self) -> usize {
        let mut state = self.0.lock();
        state.askers = state.askers.saturating_sub(1);
        state.askers
    }

    /// One more wants it; whether that is possible.
    pub(super) fn join(&self, only_if_open: bool) -> bool {
        let mut state = self.0.lock();
        // Where the last one has just withdrawn, it is about to be stopped.
        if state.askers == 0 || (only_if_open && !state.open) {
            return false;
        }
        state.askers += 1;
        state.joined = true;
        true
    }
}
