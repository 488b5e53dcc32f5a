//! Single-use ways in: who has a credential gets a ticket with it, and whoever shows that within a minute stands
//! where they stood. So a browser can be opened for somebody without their key in its address.

use std::collections::HashMap;
use std::io;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::Principal;
use branchyard_config::random_hex;

/// For how long a ticket can be used.
pub const GOOD_FOR: Duration = Duration::from_secs(60);
const BYTES: usize = 32;
/// Beyond these, the oldest is no good any more: nobody opens so many browsers in a minute.
const MOST: usize = 64;

#[derive(Debug, Default)]
pub struct Tickets(Mutex<HashMap<String, (Instant, Principal)>>);

impl Tickets {
    pub fn issue(&self, principal: &Principal) -> io::Result<String> {
        let ticket = random_hex::<BYTES>()?;
        let mut issued = self.0.lock();
        issued.retain(|_, (at, _)| at.elapsed() < GOOD_FOR);
        if issued.len() >= MOST
            && let Some((oldest, _)) = issued.iter().min_by_key(|(_, (at, _))| *at)
        {
            let oldest = oldest.clone();
            issued.remove(&oldest);
        }
        issued.insert(ticket.clone(), (Instant::now(), principal.clone()));
        Ok(ticket)
    }

    /// Whose it was; it is used up by that.
    pub fn redeem(&self, ticket: &str) -> Option<Principal> {
        let mut issued = self.0.lock();
        let (at, principal) = issued.remove(ticket)?;
        (at.elapsed() < GOOD_FOR).then_some(principal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grant;

    #[test]
    fn a_ticket_is_good_once() {
        let tickets = Tickets::default();
        let anna = Principal::new("anna", Grant::everything());
        let ticket = tickets.issue(&anna).unwrap();
        assert!(tickets.redeem("").is_none());
        assert_eq!(tickets.redeem(&ticket).unwrap().name(), "anna");
        assert!(tickets.redeem(&ticket).is_none());
    }

    #[test]
    fn tickets_do_not_pile_up() {
        let tickets = Tickets::default();
        let anna = Principal::new("anna", Grant::everything());
        let first = tickets.issue(&anna).unwrap();
        for _ in 0..MOST {
            tickets.issue(&anna).unwrap();
        }
        assert!(tickets.redeem(&first).is_none());
        assert_eq!(tickets.0.lock().len(), MOST);
    }
}
