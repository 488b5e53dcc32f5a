//! Scans of all files of a workspace, each shared by those who ask together. A caller who asks during a scan waits for
//! the next one, and so do all others until that begins: no caller is told what was found before the question, and
//! however many ask, there is one scan at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::Error;
use branchyard_git::{For, MetadataStatus, Repository};

#[derive(Debug, Default)]
pub(super) struct Scanner {
    tracked: SharedScan<Option<MetadataStatus>>,
    all: SharedScan<Option<MetadataStatus>>,
}

impl Scanner {
    pub(super) fn tracked(&self, repo: &Repository) -> Result<Arc<Option<MetadataStatus>>, Error> {
        self.tracked
            .ask(|| Ok(MetadataStatus::at(repo, For::Suspects)?))
    }

    pub(super) fn all(&self, repo: &Repository) -> Result<Arc<Option<MetadataStatus>>, Error> {
        self.all.ask(|| Ok(MetadataStatus::at(repo, For::Both)?))
    }
}

/// Unlike a [`branchyard_runtime::single_flight::SingleFlight`] it is done by the thread that asks, with what that has
/// open.
#[derive(Debug, Default)]
struct SharedScan<T> {
    /// How many scans were begun so far: the number of the last one.
    begun: AtomicU64,
    waiting: AtomicUsize,
    /// Held during a scan; what the last one found, while another caller may want it.
    last: Mutex<Option<(u64, Arc<T>)>>,
}

impl<T> SharedScan<T> {
    /// What a scan finds that begins after this. Where it fails, only the caller who did it is told: the next one scans
    /// again. Blocks.
    fn ask<E>(&self, scan: impl FnOnce() -> Result<T, E>) -> Result<Arc<T>, E> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let wanted = self.begun.load(Ordering::SeqCst) + 1;
        let mut last = self.last.lock();
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        let (number, found) = match last.take() {
            Some((number, found)) if number >= wanted => (number, found),
            _ => {
                let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
                (number, Arc::new(scan()?))
            }
        };
        if self.waiting.load(Ordering::SeqCst) > 0 {
            *last = Some((number, found.clone()));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    /// Waits until so many wait for a look.
    fn until_waiting(together: &SharedScan<usize>, count: usize) {
        while together.waiting.load(Ordering::SeqCst) < count {
            thread::yield_now();
        }
    }

    #[test]
    fn those_who_ask_during_a_look_share_the_next() {
        let (together, looks) = (SharedScan::default(), AtomicUsize::new(0));
        let look = || Ok::<_, ()>(looks.fetch_add(1, Ordering::SeqCst) + 1);
        let (go, gone) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                together.ask(move || {
                    gone.recv().unwrap();
                    look()
                })
            });
            while together.begun.load(Ordering::SeqCst) == 0 {
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
        assert!(together.last.lock().is_none());
        assert_eq!(*together.ask(look).unwrap(), 3);
    }

    #[test]
    fn a_look_that_fails_or_panics_is_made_again_by_the_next() {
        let together = SharedScan::default();
        assert_eq!(together.ask(|| Err("no")).unwrap_err(), "no");
        let panicked = thread::scope(|scope| {
            let ask = || together.ask(|| -> Result<usize, &str> { panic!("on purpose") });
            scope.spawn(ask).join()
        });
        assert!(panicked.is_err());
        assert_eq!(*together.ask(|| Ok::<_, &str>(7)).unwrap(), 7);
    }
}
