//! Work on many files, shared by some threads.

use std::io;
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, ScopedJoinHandle};

/// Beyond so many, threads wait for each other in the file system.
const MOST: usize = 16;

/// Has each of `0..count` done, by threads with a state of their own each, which take `portion` of them at a time
/// and are not worth starting for fewer. Returns those states, or the first error, after which nothing more is begun.
pub fn share<W: Send>(
    count: usize,
    portion: usize,
    new: impl Fn() -> W + Sync,
    work: impl Fn(&mut W, usize) -> io::Result<()> + Sync,
) -> io::Result<Vec<W>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let toil = || {
        let mut state = new();
        while !failed.load(Ordering::Relaxed) {
            let begin = next.fetch_add(portion, Ordering::Relaxed);
            if begin >= count {
                break;
            }
            for n in begin..count.min(begin + portion) {
                if let Err(error) = work(&mut state, n) {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(state)
    };
    let threads = thread::available_parallelism().map_or(1, NonZero::get) * 2;
    let threads = threads.min(MOST).min(count.div_ceil(portion));
    let states = on_threads(threads, toil).into_iter();
    states
        .map(|state| state.unwrap_or_else(|_| Err(io::Error::other("a thread panicked"))))
        .collect()
}

/// Has `work` done by this thread and up to `threads - 1` others, as many as the machine has room for.
fn on_threads<T: Send>(threads: usize, work: impl Fn() -> T + Sync) -> Vec<thread::Result<T>> {
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, &work).ok())
            .collect();
        let mut done = vec![Ok(work())];
        done.extend(others.into_iter().map(ScopedJoinHandle::join));
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_done_once_and_the_first_error_is_told() {
        let states = share(1000, 64, Vec::new, |done, n| {
            done.push(n);
            Ok(())
        });
        let mut done = states.unwrap().concat();
        done.sort_unstable();
        assert_eq!(done, (0..1000).collect::<Vec<_>>());
        let failing = share(
            1000,
            64,
            || (),
            |(), n| match n {
                500 => Err(io::Error::other("no")),
                _ => Ok(()),
            },
        );
        assert_eq!(failing.unwrap_err().to_string(), "no");
        assert_eq!(share(0, 64, || 1, |_, _| Ok(())).unwrap(), [1]);
    }
}
