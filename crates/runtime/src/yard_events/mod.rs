//! The events of the yard: every change to a workspace, run, repo or salvage, for those who watch all of it. The latest
//! few thousand are kept, in memory alone; who was away for longer, or knew an earlier daemon, looks at everything
//! again.

mod change;
mod place;

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;

pub use change::*;
pub use place::EventCursor;

/// Beyond these, the oldest are forgotten.
const KEPT: usize = 4096;

/// Where it is told what changes, and heard; cheap to clone.
#[derive(Debug, Clone)]
pub struct EventBus(Arc<BusShared>);

#[derive(Debug)]
struct BusShared {
    epoch: u64,
    latest: Mutex<Latest>,
    /// How many there ever were, to wake those who wait.
    count: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Latest {
    /// How many there ever were.
    count: u64,
    /// The latest last.
    items: VecDeque<Arc<EventItem>>,
}

#[derive(Debug)]
pub struct EventItem {
    /// The place after it.
    pub place: EventCursor,
    pub at: Timestamp,
    pub change: YardChange,
}

/// What was told after this place is not all known any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forgotten;

impl Default for EventBus {
    fn default() -> Self {
        let began = Timestamp::now().as_microsecond();
        Self(Arc::new(BusShared {
            // Another daemon's places are not ours, though it counted as far.
            epoch: began.unsigned_abs(),
            latest: Mutex::default(),
            count: watch::Sender::new(0),
        }))
    }
}

impl EventBus {
    pub fn publish(&self, change: YardChange) {
        let mut latest = self.0.latest.lock();
        latest.count += 1;
        let count = latest.count;
        if latest.items.len() == KEPT {
            latest.items.pop_front();
        }
        latest.items.push_back(Arc::new(EventItem {
            place: self.0.place(count),
            at: Timestamp::now(),
            change,
        }));
        // While it is locked, so that the count never goes back.
        self.0.count.send_replace(count);
    }

    /// The place after all that was told so far.
    pub fn now(&self) -> EventCursor {
        self.0.place(self.0.latest.lock().count)
    }

    /// What was told after `place`; waits while that is nothing.
    pub async fn after(&self, place: EventCursor) -> Result<Vec<Arc<EventItem>>, Forgotten> {
        let mut count = self.0.count.subscribe();
        // The sender is our own, so it cannot go while we wait.
        let _ = count.wait_for(|count| *count != place.count).await;
        self.0.since(place)
    }
}

impl BusShared {
    fn place(&self, count: u64) -> EventCursor {
        EventCursor {
            epoch: self.epoch,
            count,
        }
    }

    fn since(&self, place: EventCursor) -> Result<Vec<Arc<EventItem>>, Forgotten> {
        let latest = self.latest.lock();
        let missed = latest.count.checked_sub(place.count).ok_or(Forgotten)?;
        let missed = usize::try_from(missed).map_err(|_| Forgotten)?;
        let known = latest.items.len().checked_sub(missed).ok_or(Forgotten)?;
        match place.epoch == self.epoch {
            true => Ok(latest.items.range(known..).cloned().collect()),
            false => Err(Forgotten),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_model::RepoName;

    fn change(name: &str) -> YardChange {
        YardChange::Repo(RepoEvent {
            repo: RepoName::parse(name).unwrap(),
            change: RepoChange::Added,
        })
    }

    fn names(items: &[Arc<EventItem>]) -> Vec<String> {
        let name = |item: &Arc<EventItem>| item.change.repo().to_string();
        items.iter().map(name).collect()
    }

    #[tokio::test]
    async fn who_comes_back_hears_what_they_missed_and_nothing_twice() {
        let events = EventBus::default();
        let start = events.now();
        events.publish(change("one"));
        let first = events.after(start).await.unwrap();
        assert_eq!(names(&first), ["one"]);
        let waiting = tokio::spawn({
            let (events, place) = (events.clone(), first[0].place);
            async move { events.after(place).await }
        });
        tokio::task::yield_now().await;
        events.publish(change("two"));
        assert_eq!(names(&waiting.await.unwrap().unwrap()), ["two"]);
        assert_eq!(names(&events.after(start).await.unwrap()), ["one", "two"]);
    }

    #[tokio::test]
    async fn what_is_forgotten_is_not_passed_over_in_silence() {
        let events = EventBus::default();
        let start = events.now();
        for _ in 0..=KEPT {
            events.publish(change("many"));
        }
        assert_eq!(events.after(start).await.unwrap_err(), Forgotten);
        let mut next = start;
        next.count += 1;
        assert_eq!(events.after(next).await.unwrap().len(), KEPT);
        let other = EventCursor {
            epoch: start.epoch + 1,
            ..next
        };
        assert_eq!(events.after(other).await.unwrap_err(), Forgotten);
        let ahead = EventCursor {
            count: u64::MAX,
            ..start
        };
        assert_eq!(events.after(ahead).await.unwrap_err(), Forgotten);
    }
}
