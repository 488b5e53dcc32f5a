//! The requests that wait for their answers, so that they can be cancelled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::refusal::{INVALID_REQUEST, Refusal};

/// What all messages under way may take together.
const ROOM: usize = 64 << 20;
/// What each takes at least, so that there are not too many of them.
const LEAST: usize = 256 << 10;

#[derive(Debug)]
pub(super) struct Underway {
    calls: Mutex<HashMap<String, Call>>,
    room: Arc<Semaphore>,
}

/// A request that waits for its answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Call {
    pub(super) is_newer: bool,
    /// The daemon has it.
    pub(super) accepted: CancellationToken,
    /// The agent wants no answer; the daemon may have to be told yet.
    pub(super) taken_back: CancellationToken,
    /// Nobody waits for its answer any more.
    pub(super) dropped: CancellationToken,
}

/// A request's place among those under way, until it is answered or dropped.
#[derive(Debug)]
pub(super) struct UnderwayCall {
    underway: Arc<Underway>,
    key: String,
    call: Call,
    _room: OwnedSemaphorePermit,
}

impl Underway {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            room: Arc::new(Semaphore::new(ROOM)),
        })
    }

    /// Takes a place for a request of so many bytes.
    pub(super) fn enter(
        self: &Arc<Self>,
        id: &Value,
        size: usize,
        is_newer: bool,
    ) -> Result<UnderwayCall, Refusal> {
        let refused = |why: &str| Refusal::new(id.clone(), INVALID_REQUEST, why);
        let size = u32::try_from(size.max(LEAST)).unwrap_or(u32::MAX);
        let too_much = |_| refused("too much is under way; wait for some answers first");
        let room = self.room.clone().try_acquire_many_owned(size);
        let room = room.map_err(too_much)?;
        let call = Call {
            is_newer,
            ..Call::default()
        };
        let key = id.to_string();
        let mut calls = self.calls();
        if calls.contains_key(&key) {
            return Err(refused("a request with this id is under way"));
        }
        calls.insert(key.clone(), call.clone());
        drop(calls);
        Ok(UnderwayCall {
            underway: self.clone(),
            key,
            call,
            _room: room,
        })
    }

    pub(super) fn find(&self, id: &Value) -> Option<Call> {
        self.calls().get(&id.to_string()).cloned()
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<String, Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnderwayCall {
    pub(super) fn call(&self) -> &Call {
        &self.call
    }

    /// The answer is here: its id may be used again.
    pub(super) fn leave(&self) {
        let mut calls = self.underway.calls();
        // Somebody else's by now, if this place was left before.
        let is_ours = calls
            .get(&self.key)
            .is_some_and(|call| call.dropped == self.call.dropped);
        if is_ours {
            calls.remove(&self.key);
        }
    }
}

impl Drop for UnderwayCall {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_id_is_used_once_at_a_time_and_there_is_an_end_to_the_room() {
        let underway = Underway::new();
        let first = underway.enter(&json!(1), 1, true).unwrap();
        assert!(underway.enter(&json!(1), 1, true).is_err());
        assert!(
            underway.find(&json!("1")).is_none(),
            "a string is no number"
        );
        first.leave();
        let second = underway.enter(&json!(1), 1, false).unwrap();
        drop(first);
        assert!(
            !underway.find(&json!(1)).unwrap().is_newer,
            "the second is there still"
        );
        drop(second);
        let held: Vec<_> = (0..)
            .map_while(|id| underway.enter(&json!(id), 1 << 20, true).ok())
            .collect();
        assert_eq!(held.len(), 64);
        drop(held);
        assert!(underway.enter(&json!(1), 1, true).is_ok());
    }
}
