//! What changes in the yard, for those who watch it: of what they may see, and no more.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_stream::Stream;

use super::AuthorizedApp;
use branchyard_auth::Principal;
use branchyard_model::Scope;
use branchyard_runtime::yard_events::{EventCursor, EventItem, YardChange};

/// Something that a watcher is told, and the place after it.
#[derive(Debug)]
pub struct Told {
    pub place: EventCursor,
    pub news: Bulletin,
}

#[derive(Debug)]
pub enum Bulletin {
    /// The first of every watch.
    Hello,
    /// What was missed is not known any more: everything is to be looked at again.
    Reset,
    Changed(Arc<EventItem>),
    Queue(Queue),
}

/// How many runs are at work, and how many wait for their lock or a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Queue {
    pub running: usize,
    pub waiting: usize,
}

/// What changes from `place` on, or from now on, for as long as the daemon is there.
pub fn watch(
    this: &AuthorizedApp,
    from: Option<EventCursor>,
) -> impl Stream<Item = Told> + Send + use<> {
    let app = this.clone();
    let news = this.yard().repos.news().clone();
    async_stream::stream! {
        let mut place = from.unwrap_or_else(|| news.now());
        yield Told { place, news: Bulletin::Hello };
        let mut queue = read_queue(&app);
        yield Told { place, news: Bulletin::Queue(queue) };
        loop {
            let items = tokio::select! {
                items = news.after(place) => items,
                () = app.yard().runs.left() => break,
            };
            let Ok(items) = items else {
                place = news.now();
                yield Told { place, news: Bulletin::Reset };
                queue = read_queue(&app);
                yield Told { place, news: Bulletin::Queue(queue) };
                continue;
            };
            for item in items {
                place = item.place;
                if is_for(app.principal(), &item.change) {
                    yield Told { place, news: Bulletin::Changed(item) };
                }
            }
            let now = read_queue(&app);
            if now != queue {
                queue = now;
                yield Told { place, news: Bulletin::Queue(queue) };
            }
        }
    }
}

/// Of the runs that are to be seen.
pub(super) fn read_queue(app: &AuthorizedApp) -> Queue {
    let (running, waiting) = app
        .yard()
        .runs
        .at_work(|repo, branch| app.principal().sees(repo, branch));
    Queue { running, waiting }
}

fn is_for(principal: &Principal, change: &YardChange) -> bool {
    let may = |right| principal.rights().contains(right);
    let is_allowed = match change {
        YardChange::Workspace(_)
        | YardChange::Run(_)
        | YardChange::Repo(_)
        | YardChange::Pipeline(_) => true,
        YardChange::Salvage(_) => may(Scope::GitRead),
        YardChange::Reap(_) | YardChange::Maintenance(_) => may(Scope::Ops),
    };
    is_allowed
        && match change.branch() {
            Some(branch) => principal.sees(change.repo(), branch),
            None => principal.sees_repo(change.repo()),
        }
}
