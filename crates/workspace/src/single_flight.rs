//! Answers that are shared by those who ask together. Whoever asks while somebody looks waits for the next look,
//! which begins after they asked, and so do all others until then: nobody is told what was found too early, and
//! however many ask, there is one look at a time.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct SingleFlight<T> {
    state: Mutex<FlightState<T>>,
    ended: Condvar,
}

#[derive(Debug)]
struct FlightState<T> {
    /// How many looks were begun so far: the number of the last one.
    begun: u64,
    is_under_way: bool,
    waiting: usize,
    /// What the last look found, while somebody may want it.
    found: Option<(u64, Arc<T>)>,
}

impl<T> Default for SingleFlight<T> {
    fn default() -> Self {
        Self {
            state: Mutex::new(FlightState {
                begun: 0,
                is_under_way: false,
                waiting: 0,
                found: None,
            }),
            ended: Condvar::new(),
        }
    }
}

impl<T> SingleFlight<T> {
    /// What a look finds that begins after this. Where it fails, only whoever did it is told: the next one looks
    /// again. Blocks.
    pub(super) fn ask<E>(&self, look: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        let mut state = self.lock();
        let wanted = state.begun + 1;
        state.waiting += 1;
        while state.is_under_way && state.found_since(wanted).is_none() {
            let woken = self.ended.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
        let found = state.found_since(wanted);
        state.waiting -= 1;
        if state.waiting == 0 {
            state.found = None;
        }
        if let Some(found) = found {
            return Ok(found);
        }
        state.begun += 1;
        state.is_under_way = true;
        let number = state.begun;
        drop(state);
        let under_way = UnderWay(self);
        let found = look().map(Arc::new);
        if let Ok(found) = &found {
            let mut state = self.lock();
            state.found = (state.waiting > 0).then(|| (number, found.clone()));
        }
        drop(under_way);
        found
    }

    fn lock(&self) -> MutexGuard<'_, FlightState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> FlightState<T> {
    fn found_since(&self, wanted: u64) -> Option<Arc<T>> {
        let found = self.found.as_ref();
        found.and_then(|(number, found)| (*number >= wanted).then(|| found.clone()))
    }
}

/// Whatever becomes of a look, the next can begin.
struct UnderWay<'a, T>(&'a SingleFlight<T>);

impl<T> Drop for UnderWay<'_, T> {
    fn drop(&mut self) {
        self.0.lock().is_under_way = false;
        self.0.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// Waits until so many wait for a look.
    fn until_waiting(together: &SingleFlight<usize>, count: usize) {
        while together.lock().waiting < count {
            thread::yield_now();
        }
    }

    #[test]
    fn those_who_ask_during_a_look_share_the_next() {
        let (together, looks) = (SingleFlight::default(), AtomicUsize::new(0));
        let look = || Ok::<_, ()>(looks.fetch_add(1, Ordering::SeqCst) + 1);
        let (go, gone) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                together.ask(move || {
                    gone.recv().unwrap();
                    look()
                })
            });
            while !together.lock().is_under_way {
                thread::yield_now();
            }
            let others: Vec<_> = (0..8).map(|_| scope.spawn(|| together.ask(look))).collect();
            until_waiting(&together, 8);
            go.send(()).unwrap();
            assert_eq!(*first.join().unwrap().unwrap(), 1);
            for other in others {
                assert_eq!(*other.join().unwrap().unwrap(), 2);
            }
        });
        assert!(together.lock().found.is_none());
        assert_eq!(*together.ask(look).unwrap(), 3);
    }

    #[test]
    fn a_look_that_fails_or_panics_is_made_again_by_the_next() {
        let together = SingleFlight::default();
        assert_eq!(together.ask(|| Err("no")).unwrap_err(), "no");
        let panicked = thread::scope(|scope| {
            let ask = || together.ask(|| -> Result<usize, &str> { panic!("on purpose") });
            scope.spawn(ask).join()
        });
        assert!(panicked.is_err());
        assert_eq!(*together.ask(|| Ok::<_, &str>(7)).unwrap(), 7);
    }
}
