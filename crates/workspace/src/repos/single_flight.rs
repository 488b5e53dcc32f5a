//! Single flight in batches: while one piece of work is under way, everyone who comes later is
//! gathered into the next. So a remote sees one process at a time however many ask, and nobody is
//! given an answer that was on its way before they asked.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio_util::task::TaskTracker;

use super::RepoError;
use branchyard_model::BranchName;

/// How far a batch has come.
#[derive(Debug, Clone)]
enum Stage<T> {
    Waiting,
    Percent(u8),
    Done(Result<T, RepoError>),
}

#[derive(Debug)]
pub(super) struct SingleFlight<T> {
    tasks: TaskTracker,
    state: Mutex<BatchState<T>>,
}

#[derive(Debug)]
struct BatchState<T> {
    running: bool,
    next: Option<Batch<T>>,
}

#[derive(Debug)]
struct Batch<T> {
    branches: BTreeSet<BranchName>,
    stage: watch::Sender<Stage<T>>,
}

/// Reports how far a batch has come to all who wait for it.
#[derive(Debug, Clone)]
pub(super) struct Reporter<T>(watch::Sender<Stage<T>>);

impl<T> Reporter<T> {
    pub(super) fn percent(&self, percent: u8) {
        self.0.send_replace(Stage::Percent(percent));
    }
}

impl<T: Clone + Send + Sync + 'static> SingleFlight<T> {
    pub(super) fn new(tasks: TaskTracker) -> Arc<Self> {
        Arc::new(Self {
            tasks,
            state: Mutex::new(BatchState {
                running: false,
                next: None,
            }),
        })
    }

    /// Joins the next batch with `branch` and waits for it; `work` does a whole batch. The work goes
    /// on in a task of its own: a caller that loses interest stops nobody else.
    pub(super) async fn run<F, Fut>(
        self: &Arc<Self>,
        branch: &BranchName,
        mut on_percent: impl FnMut(u8),
        work: F,
    ) -> Result<T, RepoError>
    where
        F: Fn(Vec<BranchName>, Reporter<T>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, RepoError>> + Send,
    {
        let mut stage = self.join(branch, work);
        loop {
            match &*stage.borrow_and_update() {
                Stage::Waiting => {}
                Stage::Percent(percent) => on_percent(*percent),
                Stage::Done(outcome) => return outcome.clone(),
            }
            stage.changed().await.map_err(|_| RepoError::Abandoned)?;
        }
    }

    fn join<F, Fut>(self: &Arc<Self>, branch: &BranchName, work: F) -> watch::Receiver<Stage<T>>
    where
        F: Fn(Vec<BranchName>, Reporter<T>) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T, RepoError>> + Send,
    {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = state.next.get_or_insert_with(|| Batch {
            branches: BTreeSet::new(),
            stage: watch::channel(Stage::Waiting).0,
        });
        batch.branches.insert(branch.clone());
        let stage = batch.stage.subscribe();
        if !state.running {
            state.running = true;
            let batches = self.clone();
            self.tasks.spawn(async move {
                // Should the work panic, the next caller must find the door open.
                let _door = Door(&batches);
                while let Some(batch) = batches.take_next() {
                    let reporter = Reporter(batch.stage.clone());
                    let outcome = work(batch.branches.into_iter().collect(), reporter).await;
                    batch.stage.send_replace(Stage::Done(outcome));
                }
            });
        }
        stage
    }

    fn take_next(&self) -> Option<Batch<T>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let next = state.next.take();
        if next.is_none() {
            state.running = false;
        }
        next
    }
}

struct Door<'a, T>(&'a SingleFlight<T>);

impl<T> Drop for Door<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.running = false;
            // Those already waiting are told by their channel's end.
            state.next = None;
        }
    }
}
