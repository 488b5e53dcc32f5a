//! The lock of a workspace: exclusive, first come first served, and visible. A waiting caller sees
//! its position in the queue, and who holds the lock since when.
//!
//! The lock is released when its guard is dropped, by a panic as well; a waiter that is dropped leaves the
//! queue without a trace.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;

use branchyard_model::{BranchName, Holder, RepoName, RunId};
use branchyard_runtime::yard_events::{EventBus, WorkspaceChange, WorkspaceEvent, YardChange};

/// A waiter is told of its position at most this often: a long queue must not flood its journals.
const BETWEEN_POSITIONS: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Default)]
pub struct WorkspaceQueue(Arc<QueueShared>);

#[derive(Debug, Default)]
struct QueueShared {
    /// Held for a few instructions and never across an await, hence not tokio's.
    line: Mutex<Line>,
    /// Ticks at every change, to wake those who wait or look.
    changed: watch::Sender<()>,
    /// Who holds the lock, and who is told when it changes hands.
    told: Option<(EventBus, RepoName, BranchName)>,
}

#[derive(Debug, Default)]
struct Line {
    next_ticket: u64,
    /// The first has the lock.
    line: VecDeque<(u64, Holder)>,
}

/// What someone who waits can see.
#[derive(Debug, Clone, PartialEq)]
pub struct Waiting {
    pub position: usize,
    pub holder: Holder,
}

/// The lock itself; dropping it gives it to the next.
#[derive(Debug)]
#[must_use = "the lock is released when this is dropped"]
pub struct WorkspaceLock {
    _place: QueuePlace,
}

/// A place in the line, given up when dropped.
#[derive(Debug)]
#[must_use = "the place is given up when this is dropped"]
pub struct QueuePlace {
    shared: Arc<QueueShared>,
    ticket: u64,
}

impl WorkspaceQueue {
    /// The lock of a workspace, of which is told who has it.
    pub(super) fn of(news: EventBus, repo: RepoName, branch: BranchName) -> Self {
        Self(Arc::new(QueueShared {
            told: Some((news, repo, branch)),
            ..QueueShared::default()
        }))
    }

    /// Takes the last place in the line.
    pub fn enter(&self, what: &str, who: &str, run_id: Option<RunId>) -> QueuePlace {
        self.join(self.0.line.lock(), what, who, run_id)
    }

    /// Waits in line and takes the lock.
    pub async fn lock(&self, what: &str, who: &str) -> WorkspaceLock {
        self.enter(what, who, None).wait(|_| {}).await
    }

    /// Takes the lock if it is free and no caller waits for it.
    pub fn try_lock(&self, what: &str, who: &str) -> Option<WorkspaceLock> {
        let queue = self.0.line.lock();
        let is_free = queue.line.is_empty();
        is_free.then(|| WorkspaceLock {
            _place: self.join(queue, what, who, None),
        })
    }

    pub fn holder(&self) -> Option<Holder> {
        let queue = self.0.line.lock();
        queue.line.front().map(|(_, holder)| holder.clone())
    }

    /// Who is in line behind the one who has the lock.
    pub fn waiting(&self) -> Vec<Holder> {
        let queue = self.0.line.lock();
        let behind = queue.line.iter().skip(1);
        behind.map(|(_, holder)| holder.clone()).collect()
    }

    /// Whether somebody is in line behind the one who has the lock.
    pub(super) fn is_wanted(&self) -> bool {
        self.0.line.lock().line.len() > 1
    }

    fn join(
        &self,
        mut queue: MutexGuard<'_, Line>,
        what: &str,
        who: &str,
        run_id: Option<RunId>,
    ) -> QueuePlace {
        let holder = Holder {
            what: what.to_owned(),
            run_id,
            who: who.to_owned(),
            since: Timestamp::now(),
        };
        let (ticket, is_first) = (queue.next_ticket, queue.line.is_empty());
        queue.next_ticket += 1;
        queue.line.push_back((ticket, holder));
        drop(queue);
        if is_first {
            self.0.tell(WorkspaceChange::Locked);
        }
        let shared = self.0.clone();
        QueuePlace { shared, ticket }
    }
}

impl QueueShared {
    fn tell(&self, change: WorkspaceChange) {
        if let Some((news, repo, branch)) = &self.told {
            news.publish(YardChange::Workspace(WorkspaceEvent {
                repo: repo.clone(),
                branch: branch.clone(),
                change,
            }));
        }
    }
}

impl QueuePlace {
    /// Waits for the lock. `on_wait` is told at once, and again when the place or the holder has changed,
    /// but not for every step of a line that moves fast.
    pub async fn wait(self, mut on_wait: impl FnMut(&Waiting)) -> WorkspaceLock {
        let mut changed = self.shared.changed.subscribe();
        let mut told = None;
        let mut due = Instant::now();
        loop {
            changed.mark_unchanged();
            let Some(now) = self.waiting() else {
                return WorkspaceLock { _place: self };
            };
            let news = told.as_ref() != Some(&now);
            if news && due <= Instant::now() {
                on_wait(&now);
                told = Some(now);
                due = Instant::now() + BETWEEN_POSITIONS;
                continue;
            }
            tokio::select! {
                // The sender lives as long as a place does, so it cannot be gone.
                _ = changed.changed() => {}
                () = tokio::time::sleep_until(due), if news => {}
            }
        }
    }

    fn waiting(&self) -> Option<Waiting> {
        let mut queue = self.shared.line.lock();
        let mut tickets = queue.line.iter().map(|(ticket, _)| *ticket);
        let position = tickets.position(|ticket| ticket == self.ticket)?;
        let (_, first) = queue.line.front_mut()?;
        if position == 0 {
            first.since = Timestamp::now();
            return None;
        }
        Some(Waiting {
            position,
            holder: first.clone(),
        })
    }
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        let mut queue = self.shared.line.lock();
        let first = |queue: &Line| queue.line.front().map(|(ticket, _)| *ticket);
        let before = first(&queue);
        queue.line.retain(|(ticket, _)| *ticket != self.ticket);
        let after = first(&queue);
        drop(queue);
        self.shared.changed.send_replace(());
        match after {
            None => self.shared.tell(WorkspaceChange::Unlocked),
            Some(_) if after != before => self.shared.tell(WorkspaceChange::Locked),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn take(queue: &WorkspaceQueue, what: &str) -> WorkspaceLock {
        queue.lock(what, "test").await
    }

    #[tokio::test]
    async fn turns_are_taken_in_order_and_positions_are_seen() {
        let queue = WorkspaceQueue::default();
        let first = take(&queue, "first").await;
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let waiters: Vec<_> = (1..=3)
            .map(|n| {
                let (queue, tell) = (queue.clone(), tell.clone());
                let place = queue.enter(&format!("w{n}"), "test", None);
                let seen = place.waiting().map(|w| (w.position, w.holder.what));
                assert_eq!(seen, Some((n, "first".to_owned())));
                tokio::spawn(async move {
                    let mut changed = queue.0.changed.subscribe();
                    while place.waiting().is_some() {
                        changed.changed().await.unwrap();
                    }
                    tell.send(n).unwrap();
                })
            })
            .collect();
        drop(first);
        for expected in 1..=3 {
            assert_eq!(told.recv().await, Some(expected));
        }
        for waiter in waiters {
            waiter.await.unwrap();
        }
        assert!(queue.holder().is_none());
    }

    #[tokio::test]
    async fn a_turn_is_tried_for_only_where_nobody_is_in_line() {
        let queue = WorkspaceQueue::default();
        let tried = queue.try_lock("try", "test").unwrap();
        assert!(queue.try_lock("again", "test").is_none());
        let waiter = queue.enter("waiter", "test", None);
        drop(tried);
        assert!(queue.try_lock("over", "test").is_none(), "one is in line");
        drop(waiter);
        assert!(queue.try_lock("free", "test").is_some());
    }

    #[tokio::test]
    async fn a_line_that_moves_fast_is_told_of_once_in_a_while() {
        let queue = WorkspaceQueue::default();
        let mut before: Vec<_> = (0..10)
            .map(|_| queue.enter("before", "test", None))
            .collect();
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let place = queue.enter("last", "test", None);
        let waiter = tokio::spawn(place.wait(move |now| tell.send(now.position).unwrap()));
        assert_eq!(told.recv().await, Some(10));
        while before.len() > 1 {
            drop(before.pop());
            tokio::task::yield_now().await;
        }
        assert_eq!(told.recv().await, Some(1), "the rest in one");
        drop(before);
        let _last = waiter.await.unwrap();
        assert_eq!(told.recv().await, None);
    }

    #[tokio::test]
    async fn a_panicking_holder_and_a_dropped_waiter_are_passed_over() {
        let queue = WorkspaceQueue::default();
        let held = queue.clone();
        let holder = tokio::spawn(async move {
            let _guard = take(&held, "holder").await;
            panic!("on purpose");
        });
        assert!(holder.await.is_err());
        let guard = take(&queue, "next").await;
        let gone = tokio::time::timeout(Duration::from_millis(1), take(&queue, "impatient")).await;
        assert!(gone.is_err());
        drop(guard);
        let _last = take(&queue, "last").await;
        assert_eq!(queue.holder().map(|h| h.what), Some("last".to_owned()));
    }
}
