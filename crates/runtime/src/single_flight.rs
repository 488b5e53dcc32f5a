//! Single flight: work that is done once for all who want it together, by one task at a time.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::task::TaskTracker;

/// How far a batch has come.
#[derive(Debug, Clone)]
enum Stage<T> {
    Waiting,
    Percent(u8),
    Done(T),
}

/// Callers who come while work is under way are gathered into the next batch, with what each of them wants: none is
/// given an answer that was on its way before they asked. Unless they may join what is under way.
#[derive(Debug)]
pub struct SingleFlight<K, T> {
    tasks: TaskTracker,
    joins_current: bool,
    state: Mutex<FlightState<K, T>>,
}

#[derive(Debug)]
struct FlightState<K, T> {
    current: Option<watch::Sender<Stage<T>>>,
    next: Option<Batch<K, T>>,
}

#[derive(Debug)]
struct Batch<K, T> {
    wanted: BTreeSet<K>,
    stage: watch::Sender<Stage<T>>,
}

/// Reports how far a batch has come to all who wait for it.
#[derive(Debug, Clone)]
pub struct Reporter<T>(watch::Sender<Stage<T>>);

impl<T> Reporter<T> {
    pub fn percent(&self, percent: u8) {
        self.0.send_replace(Stage::Percent(percent));
    }
}

impl<K: Ord + Send + 'static, T: Clone + Send + Sync + 'static> SingleFlight<K, T> {
    /// Every caller gets an answer that was begun after they asked.
    pub fn new(tasks: TaskTracker) -> Arc<Self> {
        Self::with(tasks, false)
    }

    /// Callers join what is under way.
    pub fn joining(tasks: TaskTracker) -> Arc<Self> {
        Self::with(tasks, true)
    }

    fn with(tasks: TaskTracker, joins_current: bool) -> Arc<Self> {
        Arc::new(Self {
            tasks,
            joins_current,
            state: Mutex::new(FlightState {
                current: None,
                next: None,
            }),
        })
    }

    /// Has `work` done for a whole batch, of which this is one, and waits for it. The work goes on in a task of its own:
    /// a caller that loses interest stops no other. `None` if it panicked.
    pub async fn run<F, Fut>(
        self: &Arc<Self>,
        wanted: K,
        mut on_percent: impl FnMut(u8),
        work: F,
    ) -> Option<T>
    where
        F: Fn(Vec<K>, Reporter<T>) -> Fut + Send + 'static,
        Fut: Future<Output = T> + Send,
    {
        let mut stage = self.join(wanted, work);
        loop {
            match &*stage.borrow_and_update() {
                Stage::Waiting => {}
                Stage::Percent(percent) => on_percent(*percent),
                Stage::Done(outcome) => return Some(outcome.clone()),
            }
            stage.changed().await.ok()?;
        }
    }

    fn join<F, Fut>(self: &Arc<Self>, wanted: K, work: F) -> watch::Receiver<Stage<T>>
    where
        F: Fn(Vec<K>, Reporter<T>) -> Fut + Send + 'static,
        Fut: Future<Output = T> + Send,
    {
        let mut state = self.state.lock();
        if self.joins_current
            && let Some(current) = &state.current
        {
            return current.subscribe();
        }
        let is_idle = state.current.is_none();
        let batch = state.next.get_or_insert_with(|| Batch {
            wanted: BTreeSet::new(),
            stage: watch::Sender::new(Stage::Waiting),
        });
        batch.wanted.insert(wanted);
        let stage = batch.stage.subscribe();
        if is_idle {
            state.current = Some(batch.stage.clone());
            let flight = self.clone();
            self.tasks.spawn(async move {
                // Should the work panic, the next caller must find the door open.
                let _door = Door(&flight);
                while let Some(Batch { wanted, stage }) = flight.take_next() {
                    let outcome = work(wanted.into_iter().collect(), Reporter(stage.clone())).await;
                    stage.send_replace(Stage::Done(outcome));
                }
            });
        }
        stage
    }

    fn take_next(&self) -> Option<Batch<K, T>> {
        let mut state = self.state.lock();
        let next = state.next.take();
        state.current = next.as_ref().map(|batch| batch.stage.clone());
        next
    }
}

struct Door<'a, K, T>(&'a SingleFlight<K, T>);

impl<K, T> Drop for Door<'_, K, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut state = self.0.state.lock();
            state.current = None;
            // Those already waiting are told by their channel's end.
            state.next = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::Semaphore;

    use super::*;

    /// Counts the batches, each of which waits for a permit.
    #[derive(Default)]
    struct Work {
        begun: AtomicUsize,
        go: Option<Semaphore>,
    }

    type Batches = SingleFlight<u32, (usize, Vec<u32>)>;

    async fn ask(
        flight: &Arc<Batches>,
        work: &Arc<Work>,
        wanted: u32,
    ) -> Option<(usize, Vec<u32>)> {
        let work = work.clone();
        let done = move |wanted: Vec<u32>, _| {
            let work = work.clone();
            async move {
                let number = work.begun.fetch_add(1, Ordering::SeqCst) + 1;
                if let Some(go) = &work.go {
                    go.acquire().await.unwrap().forget();
                }
                assert!(!wanted.contains(&99), "on purpose");
                (number, wanted)
            }
        };
        flight.run(wanted, |_| {}, done).await
    }

    fn waiting() -> Arc<Work> {
        Arc::new(Work {
            go: Some(Semaphore::new(0)),
            ..Work::default()
        })
    }

    async fn three_while_one_runs(flight: Arc<Batches>) -> Vec<(usize, Vec<u32>)> {
        let work = waiting();
        let asking: Vec<_> = [7, 3, 1, 3]
            .map(|wanted| (flight.clone(), work.clone(), wanted))
            .into();
        let mut asked = Vec::new();
        for (flight, work, wanted) in asking {
            let begun = work.clone();
            asked.push(tokio::spawn(
                async move { ask(&flight, &work, wanted).await },
            ));
            while begun.begun.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
        }
        // On one thread, each of them asks before it yields.
        tokio::task::yield_now().await;
        work.go.as_ref().unwrap().add_permits(2);
        let mut answers = Vec::new();
        for asked in asked {
            answers.push(asked.await.unwrap().unwrap());
        }
        answers
    }

    #[tokio::test]
    async fn who_comes_while_work_is_under_way_shares_the_next() {
        let answers = three_while_one_runs(SingleFlight::new(TaskTracker::new())).await;
        let next = (2, vec![1, 3]);
        assert_eq!(answers, [(1, vec![7]), next.clone(), next.clone(), next]);
    }

    #[tokio::test]
    async fn who_may_join_shares_what_is_under_way() {
        let answers = three_while_one_runs(SingleFlight::joining(TaskTracker::new())).await;
        assert_eq!(answers, vec![(1, vec![7]); 4]);
    }

    #[tokio::test]
    async fn after_a_panic_the_next_caller_is_served() {
        let (flight, work) = (SingleFlight::new(TaskTracker::new()), Arc::default());
        assert_eq!(ask(&flight, &work, 99).await, None);
        assert_eq!(ask(&flight, &work, 1).await, Some((2, vec![1])));
        assert!(flight.state.lock().current.is_none());
    }

    #[tokio::test]
    async fn work_outlives_its_caller_and_all_see_its_progress() {
        let flight = SingleFlight::joining(TaskTracker::new());
        let go = Arc::new(Semaphore::new(0));
        let going = go.clone();
        let work = move |_, reporter: Reporter<u32>| {
            let go = going.clone();
            async move {
                reporter.percent(50);
                go.acquire().await.unwrap().forget();
                8
            }
        };
        let first = flight.run((), |_| {}, work.clone());
        let timeout = std::time::Duration::from_millis(10);
        assert!(tokio::time::timeout(timeout, first).await.is_err());
        go.add_permits(1);
        let mut seen = Vec::new();
        let second = flight.run((), |percent| seen.push(percent), work).await;
        assert_eq!((second, seen), (Some(8), vec![50]));
    }
}
