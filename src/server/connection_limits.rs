//! How many connections there are, in all and from each address, and which one is closed to make room.
//!
//! A connection is unauthenticated until a request on it shows a good credential. Those have few places of their
//! own, and when these are taken the oldest idle one is closed for the next: connections that say nothing
//! neither keep callers with a credential out nor each other. Authenticated ones have the places that
//! the configuration says; when those are taken, the one that was idle for longest is closed.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use branchyard_auth::{Connection, Peer};
use branchyard_config::Limits;
use branchyard_model::{ErrorKind, Problem};

/// A connection is a file, and the journal that a viewer follows another.
const FILES_OF_ONE: u64 = 2;
/// What the daemon opens besides: pipes, stores, the database, journals that are written. Where the system
/// gives little, half of that.
const OTHER_FILES: u64 = 4096;
/// How many of the places that are configured there are for unauthenticated connections, in addition.
const UNAUTHENTICATED: usize = 4;
/// So many at least: each caller begins as one of them.
const LEAST_UNAUTHENTICATED: usize = 64;
/// Connections that were told to close and are still open, each with its file, before the next is let in.
const MOST_CLOSING: usize = 64;
/// When to try again where all connections are at work.
const TRY_AGAIN: u64 = 5;

#[derive(Debug)]
pub(super) struct ConnectionLimits {
    authenticated: Budget,
    unauthenticated: Budget,
    taken: Mutex<Taken>,
    /// A connection that was told to close has done so.
    closed: Notify,
}

#[derive(Debug, Clone, Copy)]
struct Budget {
    all: usize,
    of_peer: usize,
}

#[derive(Debug, Default)]
struct Taken {
    latest: u64,
    authenticated: Crowd,
    unauthenticated: Crowd,
    closing: usize,
}

/// The connections of one budget, oldest first.
#[derive(Debug, Default)]
struct Crowd {
    connections: BTreeMap<u64, Arc<LimitsState>>,
    by_peer: HashMap<Peer, usize>,
}

/// What is known of one connection.
#[derive(Debug)]
struct LimitsState {
    peer: Peer,
    born: Instant,
    is_authenticated: AtomicBool,
    /// Requests that are being answered.
    requests: AtomicUsize,
    /// Milliseconds between its birth and its latest end of an answer.
    idle_since: AtomicU64,
    close: CancellationToken,
}

/// A place for one connection, given back when dropped.
#[derive(Debug)]
#[must_use = "it is given back at once"]
pub(super) struct ConnectionPlace(Handle);

/// What a request carries of its connection. It does not keep the place.
#[derive(Debug, Clone)]
pub(super) struct Handle {
    id: u64,
    state: Arc<LimitsState>,
    places: Arc<ConnectionLimits>,
}

/// A request that is being answered; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Answering(Arc<LimitsState>);

impl ConnectionLimits {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        let wanted = u64::try_from(limits.max_connections).unwrap_or(u64::MAX);
        let max = wanted.min(files_for(wanted));
        if max < wanted {
            tracing::info!(
                max,
                "fewer connections than limits.max_connections: this process may not have more files open"
            );
        }
        let authenticated = Budget {
            all: usize::try_from(max).unwrap_or(usize::MAX),
            of_peer: limits.max_connections_per_address,
        };
        let share = |count: usize| (count / UNAUTHENTICATED).max(LEAST_UNAUTHENTICATED);
        Arc::new(Self {
            authenticated,
            unauthenticated: Budget {
                all: share(authenticated.all),
                of_peer: share(authenticated.of_peer.min(authenticated.all)),
            },
            taken: Mutex::default(),
            closed: Notify::new(),
        })
    }

    /// A place for a new connection; another may be closed for it.
    pub(super) fn take(self: &Arc<Self>, peer: Peer) -> ConnectionPlace {
        let mut taken = self.taken.lock();
        let budget = self.unauthenticated;
        if taken.unauthenticated.of_peer(peer) >= budget.of_peer {
            taken.close_unauthenticated(Some(peer));
        } else if taken.unauthenticated.connections.len() >= budget.all {
            let most = taken.unauthenticated.largest_peer();
            taken.close_unauthenticated(most);
        }
        let state = Arc::new(LimitsState {
            peer,
            born: Instant::now(),
            is_authenticated: AtomicBool::new(false),
            requests: AtomicUsize::new(0),
            idle_since: AtomicU64::new(0),
            close: CancellationToken::new(),
        });
        taken.latest += 1;
        let id = taken.latest;
        taken.unauthenticated.add(id, state.clone());
        metrics::gauge!("branchyard_connections").increment(1.0);
        let places = self.clone();
        ConnectionPlace(Handle { id, state, places })
    }

    /// Closes an idle connection without a credential, where the system has no file for the next.
    pub(super) fn make_room(&self) {
        let mut taken = self.taken.lock();
        let most = taken.unauthenticated.largest_peer();
        taken.close_unauthenticated(most);
    }

    /// Returns when few of the connections that were told to close are still open.
    pub(super) async fn settled(&self) {
        loop {
            let closed = self.closed.notified();
            if self.taken.lock().closing < MOST_CLOSING {
                return;
            }
            closed.await;
        }
    }

    fn authenticate(&self, id: u64) -> Result<(), Problem> {
        let mut taken = self.taken.lock();
        let Some(state) = taken.unauthenticated.connections.get(&id).cloned() else {
            return Ok(());
        };
        let budget = self.authenticated;
        let crowd = &mut taken.authenticated;
        let of_peer = crowd.of_peer(state.peer) >= budget.of_peer;
        if of_peer || crowd.connections.len() >= budget.all {
            let Some(longest) = crowd.longest_idle(of_peer.then_some(state.peer)) else {
                metrics::counter!("branchyard_connections_turned_away_total").increment(1);
                return Err(full());
            };
            taken.close(longest);
        }
        taken.unauthenticated.remove(id);
        state.is_authenticated.store(true, Ordering::Relaxed);
        taken.authenticated.add(id, state);
        Ok(())
    }
}

impl Taken {
    /// One that is idle, or where all are at work the oldest: an answer that is taken slowly is work too.
    fn close_unauthenticated(&mut self, peer: Option<Peer>) {
        let crowd = &self.unauthenticated;
        let idle = crowd.among(peer).find(|(_, state)| state.is_idle());
        let closed = idle.or_else(|| crowd.among(peer).next());
        if let Some(id) = closed.map(|(id, _)| id) {
            self.close(id);
        }
    }

    fn remove(&mut self, id: u64) -> Option<Arc<LimitsState>> {
        let removed = self.unauthenticated.remove(id);
        removed.or_else(|| self.authenticated.remove(id))
    }

    /// It counts no more from here on, and its file is closed soon.
    fn close(&mut self, id: u64) {
        if let Some(state) = self.remove(id) {
            self.closing += 1;
            metrics::counter!("branchyard_connections_closed_for_others_total").increment(1);
            state.close.cancel();
        }
    }
}

impl Crowd {
    fn of_peer(&self, peer: Peer) -> usize {
        self.by_peer.get(&peer).copied().unwrap_or_default()
    }

    fn largest_peer(&self) -> Option<Peer> {
        let largest = self.by_peer.iter().max_by_key(|(_, count)| **count);
        largest.map(|(peer, _)| *peer)
    }

    /// Those of a peer, or all of them.
    fn among(&self, peer: Option<Peer>) -> impl Iterator<Item = (u64, &LimitsState)> {
        let all = self.connections.iter().map(|(id, state)| (*id, &**state));
        all.filter(move |(_, state)| peer.is_none_or(|peer| state.peer == peer))
    }

    fn longest_idle(&self, peer: Option<Peer>) -> Option<u64> {
        let idle = self.among(peer).filter(|(_, state)| state.is_idle());
        let longest = idle.min_by_key(|(_, state)| state.idle_since());
        longest.map(|(id, _)| id)
    }

    fn add(&mut self, id: u64, state: Arc<LimitsState>) {
        *self.by_peer.entry(state.peer).or_default() += 1;
        self.connections.insert(id, state);
    }

    fn remove(&mut self, id: u64) -> Option<Arc<LimitsState>> {
        let state = self.connections.remove(&id)?;
        if let Some(of_peer) = self.by_peer.get_mut(&state.peer) {
            *of_peer -= 1;
            if *of_peer == 0 {
                self.by_peer.remove(&state.peer);
            }
        }
        Some(state)
    }
}

impl LimitsState {
    fn is_idle(&self) -> bool {
        self.requests.load(Ordering::Relaxed) == 0
    }

    fn idle_since(&self) -> Instant {
        self.born + Duration::from_millis(self.idle_since.load(Ordering::Relaxed))
    }
}

impl ConnectionPlace {
    pub(super) fn handle(&self) -> Handle {
        self.0.clone()
    }

    /// Returns when the connection is to be closed: for another, or since it sent no request for `patience` and
    /// never showed a credential.
    pub(super) async fn given_up(&self, patience: Duration) {
        let state = &self.0.state;
        let silent = async {
            while !state.is_authenticated.load(Ordering::Relaxed) {
                let deadline = match state.is_idle() {
                    true => state.idle_since() + patience,
                    false => Instant::now() + patience,
                };
                if deadline <= Instant::now() {
                    return;
                }
                tokio::time::sleep_until(deadline).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = state.close.cancelled() => {}
            () = silent => {
                metrics::counter!("branchyard_silent_connections_total").increment(1);
            }
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        let Handle { id, places, .. } = &self.0;
        let mut taken = places.taken.lock();
        if taken.remove(*id).is_none() {
            taken.closing -= 1;
            places.closed.notify_waiters();
        }
        metrics::gauge!("branchyard_connections").decrement(1.0);
    }
}

impl Handle {
    pub(super) fn peer(&self) -> Peer {
        self.state.peer
    }

    /// A request begins; it lasts as long as its answer.
    pub(super) fn answering(&self) -> Answering {
        self.state.requests.fetch_add(1, Ordering::Relaxed);
        Answering(self.state.clone())
    }
}

impl Connection for Handle {
    fn authenticated(&self) -> Result<(), Problem> {
        match self.state.is_authenticated.load(Ordering::Relaxed) {
            true => Ok(()),
            false => self.places.authenticate(self.id),
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let age = u64::try_from(self.0.born.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.idle_since.store(age, Ordering::Relaxed);
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

fn full() -> Problem {
    Problem::new(
        ErrorKind::Unavailable,
        "too_many_connections",
        "too many connections are at work; limits.max_connections and limits.max_connections_per_address are the limits",
    )
    .help("close some, or try again in a while; the operator can raise the limits")
    .retry_after(TRY_AGAIN)
}

/// Has the system allow enough open files for `wanted` connections, as far as it lets us; for how many
/// that is. Not more than is needed: there are programs that close every file that they could have.
fn files_for(wanted: u64) -> u64 {
    // Unauthenticated connections have places of their own besides, and open nothing else.
    let share = u64::try_from(UNAUTHENTICATED).unwrap_or(1);
    let needed = wanted
        .saturating_mul(FILES_OF_ONE)
        .saturating_add(wanted / share)
        .saturating_add(OTHER_FILES);
    let limit = getrlimit(Resource::Nofile);
    let Some(current) = limit.current else {
        return wanted;
    };
    let most = limit.maximum.map_or(needed, |most| most.min(needed));
    let raised = Rlimit {
        current: Some(most),
        maximum: limit.maximum,
    };
    let files = match most > current {
        true if setrlimit(Resource::Nofile, raised).is_ok() => most,
        _ => current,
    };
    let others = OTHER_FILES.min(files / 2);
    let of_connections = files - others;
    // Each place takes its own files and its share of an unauthenticated one.
    (of_connections * share / (FILES_OF_ONE * share + 1)).max(1)
}

#[cfg(test)]
mod tests;
