//! How many connections there are, in all and from each address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::auth::Peer;
use crate::config::Limits;

/// A connection is a file, and the journal that a viewer follows another.
const FILES_OF_ONE: u64 = 2;
/// What the daemon opens besides: pipes, stores, the database, journals that are written. Where the system
/// gives little, half of that.
const OTHER_FILES: u64 = 4096;

#[derive(Debug)]
pub(super) struct Places {
    max: usize,
    max_of_peer: usize,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_peer: HashMap<Peer, usize>,
}

/// A place for one connection, given back when dropped.
#[derive(Debug)]
#[must_use = "it is given back at once"]
pub(super) struct Place {
    peer: Peer,
    places: Arc<Places>,
}

impl Places {
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        let wanted = u64::try_from(limits.max_connections).unwrap_or(u64::MAX);
        let max = wanted.min(files_for(wanted));
        if max < wanted {
            tracing::info!(
                max,
                "fewer connections than limits.max_connections: this process may not have more files open"
            );
        }
        Arc::new(Self {
            max: usize::try_from(max).unwrap_or(usize::MAX),
            max_of_peer: limits.max_connections_per_address,
            taken: Mutex::default(),
        })
    }

    /// `None` where there is none left for this peer.
    pub(super) fn take(self: &Arc<Self>, peer: Peer) -> Option<Place> {
        let mut taken = self.taken();
        let of_peer = taken.by_peer.get(&peer).copied().unwrap_or_default();
        if taken.all >= self.max || of_peer >= self.max_of_peer {
            return None;
        }
        taken.all += 1;
        taken.by_peer.insert(peer, of_peer + 1);
        metrics::gauge!("branchyard_connections").increment(1.0);
        Some(Place {
            peer,
            places: self.clone(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.taken();
        taken.all -= 1;
        if let Some(of_peer) = taken.by_peer.get_mut(&self.peer) {
            *of_peer -= 1;
            if *of_peer == 0 {
                taken.by_peer.remove(&self.peer);
            }
        }
        metrics::gauge!("branchyard_connections").decrement(1.0);
    }
}

/// Has the system allow enough open files for `wanted` connections, as far as it lets us; for how many
/// that is. Not more than is needed: there are programs that close every file that they could have.
fn files_for(wanted: u64) -> u64 {
    let needed = wanted
        .saturating_mul(FILES_OF_ONE)
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
    ((files - others) / FILES_OF_ONE).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_given_back_to_all_and_to_its_peer() {
        let places = Places::new(&Limits {
            max_connections: 3,
            max_connections_per_address: 2,
            ..Limits::default()
        });
        let one = places.take(Peer::Loopback).unwrap();
        let two = places.take(Peer::Loopback).unwrap();
        assert!(places.take(Peer::Loopback).is_none(), "of this peer");
        let three = places.take(Peer::Socket).unwrap();
        assert!(places.take(Peer::Socket).is_none(), "of all");
        drop(one);
        let again = places.take(Peer::Loopback).unwrap();
        drop((two, three, again));
        let taken = places.taken();
        assert_eq!((taken.all, taken.by_peer.len()), (0, 0));
    }
}
