//! Webhooks whose bodies come in at the same time: they are held before it is known whether they are genuine, so neither all
//! senders together nor a slow one alone may have many.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Peer;
use branchyard_model::{ErrorKind, Problem};

/// Of all senders.
const MOST: usize = 64;
const MOST_OF_ONE: usize = 8;
/// A proxy on this machine passes on what many send.
const MOST_OF_THIS_MACHINE: usize = 32;
/// After how many seconds there is room for another.
const TRY_AGAIN: u64 = 5;

type TakenPlaces = Arc<Mutex<HashMap<Peer, usize>>>;

#[derive(Debug, Default)]
pub(crate) struct HookPlaces(TakenPlaces);

/// A place for one body; given back when dropped.
#[derive(Debug)]
#[must_use = "it is given back at once"]
pub struct HookPlace {
    of: Peer,
    taken: TakenPlaces,
}

impl HookPlaces {
    pub(crate) fn take(&self, peer: Peer) -> Result<HookPlace, Problem> {
        let most = match peer {
            Peer::Network(_) => MOST_OF_ONE,
            Peer::Loopback | Peer::Socket => MOST_OF_THIS_MACHINE,
        };
        let mut taken = self.0.lock();
        let all: usize = taken.values().sum();
        let of_this_one = taken.entry(peer).or_default();
        if *of_this_one >= most || all >= MOST {
            if *of_this_one == 0 {
                taken.remove(&peer);
            }
            let detail = "too many webhooks are coming in at the same time";
            let problem = Problem::new(ErrorKind::Unavailable, "too_many_hooks", detail);
            return Err(problem.retry_after(TRY_AGAIN));
        }
        *of_this_one += 1;
        Ok(HookPlace {
            of: peer,
            taken: self.0.clone(),
        })
    }
}

impl Drop for HookPlace {
    fn drop(&mut self) {
        if let Entry::Occupied(mut of_theirs) = self.taken.lock().entry(self.of) {
            *of_theirs.get_mut() -= 1;
            if *of_theirs.get() == 0 {
                of_theirs.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn peer(number: u8) -> Peer {
        Peer::Network(Ipv4Addr::new(10, 0, 0, number).into())
    }

    #[test]
    fn one_sender_leaves_places_to_others_and_all_together_have_an_end() {
        let places = HookPlaces::default();
        let mut held: Vec<_> = (0..MOST_OF_ONE)
            .map(|_| places.take(peer(1)).unwrap())
            .collect();
        let refused = places.take(peer(1)).unwrap_err();
        assert_eq!(refused.code, "too_many_hooks");
        assert_eq!(refused.retry_after, Some(TRY_AGAIN));
        for other in 2..=8 {
            held.extend((0..MOST_OF_ONE).map(|_| places.take(peer(other)).unwrap()));
        }
        assert_eq!(held.len(), MOST);
        for late in [peer(9), Peer::Loopback] {
            assert_eq!(places.take(late).unwrap_err().code, "too_many_hooks");
        }
        held.pop();
        held.push(places.take(Peer::Loopback).unwrap());
        held.clear();
        assert!(places.0.lock().is_empty(), "all were given back");
    }
}
