//! Loops that work for as long as the daemon does. One that ends or panics is started again, after a pause that grows
//! while that happens, is counted, and is named to those who ask how the daemon is until it works again.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

const FIRST_PAUSE: Duration = Duration::from_millis(if cfg!(test) { 100 } else { 1000 });
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// What goes on beside requests. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Background {
    /// Waited for when the daemon ends.
    pub tasks: TaskTracker,
    pub loops: Loops,
}

/// All background loops of one daemon. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Loops(Arc<Mutex<BTreeMap<&'static str, LoopStatus>>>);

/// How a background loop is doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoopStatus {
    pub name: Cow<'static, str>,
    pub state: LoopState,
    /// How often it ended since the daemon was started.
    pub restarts: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoopState {
    Running,
    /// It ended, and is started again in at most a minute.
    Restarting,
}

impl Loops {
    /// Runs `work` in a task of its own, again whenever it ends. Goes on until it is dropped.
    pub async fn keep<F>(self, name: &'static str, mut work: impl FnMut() -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut pause = Pause(FIRST_PAUSE);
        loop {
            self.begin(name);
            let began = Instant::now();
            let ended = AbortOnDropHandle::new(tokio::spawn(work())).await;
            let why = ended.map_or_else(|error| error.to_string(), |()| "it returned".to_owned());
            self.note_end(name, &why);
            tokio::time::sleep(pause.after(began.elapsed())).await;
        }
    }

    /// Runs `work` on a thread of its own, again whenever it panics. It returns when it is not needed any more.
    pub fn keep_thread(
        &self,
        name: &'static str,
        mut work: impl FnMut() + Send + 'static,
    ) -> io::Result<JoinHandle<()>> {
        let loops = self.clone();
        let keep = move || {
            let mut pause = Pause(FIRST_PAUSE);
            loop {
                loops.begin(name);
                let began = Instant::now();
                // Whatever the panic left half done is not seen by others: they only send to the loop.
                if catch_unwind(AssertUnwindSafe(&mut work)).is_ok() {
                    loops.0.lock().remove(name);
                    return;
                }
                loops.note_end(name, "it panicked");
                thread::sleep(pause.after(began.elapsed()));
            }
        };
        thread::Builder::new().name(name.to_owned()).spawn(keep)
    }

    /// Each loop, by name.
    pub fn status(&self) -> Vec<LoopStatus> {
        self.0.lock().values().cloned().collect()
    }

    /// Whether one of them has ended and was not started again yet.
    pub fn is_any_down(&self) -> bool {
        let all = self.0.lock();
        all.values().any(|one| one.state == LoopState::Restarting)
    }

    fn begin(&self, name: &'static str) {
        let mut all = self.0.lock();
        let status = all.entry(name).or_insert(LoopStatus {
            name: name.into(),
            state: LoopState::Running,
            restarts: 0,
        });
        status.state = LoopState::Running;
    }

    fn note_end(&self, name: &'static str, why: &str) {
        tracing::error!(
            name,
            why,
            "a background loop has ended; it is started again"
        );
        metrics::counter!("branchyard_background_restarts_total", "loop" => name).increment(1);
        if let Some(status) = self.0.lock().get_mut(name) {
            status.state = LoopState::Restarting;
            status.restarts += 1;
        }
    }
}

/// How long to wait before the next start: twice as long each time, unless the loop had worked for a while.
struct Pause(Duration);

impl Pause {
    fn after(&mut self, lived: Duration) -> Duration {
        if lived >= LONGEST_PAUSE {
            self.0 = FIRST_PAUSE;
        }
        let pause = self.0;
        self.0 = (pause * 2).min(LONGEST_PAUSE);
        pause
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    fn status(state: LoopState, restarts: u64) -> Vec<LoopStatus> {
        let name = "test";
        vec![LoopStatus {
            name: name.into(),
            state,
            restarts,
        }]
    }

    async fn until(holds: impl Fn() -> bool) {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    #[tokio::test]
    async fn a_loop_that_ends_or_panics_is_started_again_and_named_meanwhile() {
        let loops = Loops::default();
        let starts = Arc::new(AtomicU32::new(0));
        let counted = starts.clone();
        let work = move || {
            let nth = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                match nth {
                    0 => {}
                    1 => panic!("a defect"),
                    _ => std::future::pending().await,
                }
            }
        };
        let _kept = AbortOnDropHandle::new(tokio::spawn(loops.clone().keep("test", work)));
        until(|| loops.is_any_down()).await;
        assert_eq!(loops.status(), status(LoopState::Restarting, 1));
        until(|| starts.load(Ordering::SeqCst) == 2 && loops.is_any_down()).await;
        assert_eq!(loops.status(), status(LoopState::Restarting, 2));
        until(|| starts.load(Ordering::SeqCst) == 3 && !loops.is_any_down()).await;
        assert_eq!(loops.status(), status(LoopState::Running, 2));
    }

    #[test]
    fn a_thread_that_panics_is_started_again_and_one_that_returns_is_not() {
        let loops = Loops::default();
        let mut starts = 0;
        let work = move || {
            starts += 1;
            assert!(starts > 1, "a defect");
        };
        loops.keep_thread("test", work).unwrap().join().unwrap();
        assert_eq!(loops.status(), []);
    }

    #[test]
    fn pauses_grow_and_begin_anew_after_a_long_life() {
        let mut pause = Pause(FIRST_PAUSE);
        assert_eq!(pause.after(Duration::ZERO), FIRST_PAUSE);
        assert_eq!(pause.after(Duration::ZERO), FIRST_PAUSE * 2);
        let longest = (0..20).map(|_| pause.after(Duration::ZERO)).max();
        assert_eq!(longest, Some(LONGEST_PAUSE));
        assert_eq!(pause.after(LONGEST_PAUSE), FIRST_PAUSE);
    }
}
