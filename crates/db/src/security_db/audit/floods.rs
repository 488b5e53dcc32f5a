//! Refusals that come thick and fast. Anybody can be refused as often as they like, and must not be able
//! to fill the disk by it: beyond so many in a minute they are counted, and one record stands for them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::record::{Call, End};

/// How long refusals are counted together.
pub(super) const WINDOW: Duration = Duration::from_secs(60);
/// How many of one source are recorded each by itself.
const EACH: usize = 20;
/// The same of all whose credential was not good, wherever they come from: addresses are cheap.
const STRANGERS: usize = 100;
/// How many sources are told apart; all further ones are counted as one.
const SOURCES: usize = 500;

/// Whoever is refused: a principal, else an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FloodSource {
    Principal(String),
    Peer(Option<String>),
    /// All for whom there is no room.
    Others,
}

#[derive(Debug, Default)]
struct Count {
    recorded: usize,
    /// The last of those that were only counted, and how many they are.
    held: Option<(Call, End, u64)>,
}

#[derive(Debug)]
pub(super) struct Floods {
    began: Instant,
    strangers: usize,
    sources: HashMap<FloodSource, Count>,
}

impl Floods {
    pub(super) fn new() -> Self {
        Self {
            began: Instant::now(),
            strangers: 0,
            sources: HashMap::new(),
        }
    }

    /// When what was counted is due to be told, if there is any.
    pub(super) fn due(&self) -> Option<Instant> {
        let held = self.sources.values().any(|count| count.held.is_some());
        held.then(|| self.began + WINDOW)
    }

    /// The refusal back, where it is to be recorded by itself; else it is counted.
    pub(super) fn take(&mut self, call: Call, end: End) -> Option<(Call, End)> {
        let is_stranger = call.principal.is_none();
        let source = self.source(&call);
        let count = self.sources.entry(source).or_default();
        if count.recorded < EACH && !(is_stranger && self.strangers >= STRANGERS) {
            count.recorded += 1;
            self.strangers += usize::from(is_stranger);
            return Some((call, end));
        }
        let before = count.held.take().map_or(0, |(_, _, before)| before);
        count.held = Some((call, end, before + 1));
        None
    }

    /// One record for each source of which some were only counted, once the time is over or `at_once`.
    pub(super) fn tell(&mut self, now: Instant, at_once: bool) -> Vec<(Call, End)> {
        if !at_once && now < self.began + WINDOW {
            return Vec::new();
        }
        let over = std::mem::replace(self, Self::new());
        over.sources
            .into_iter()
            .filter_map(|(source, count)| {
                let (mut call, mut end, held) = count.held?;
                if source == FloodSource::Others {
                    (call.principal, call.peer) = (None, None);
                }
                end.count = held;
                end.detail = Some(format!(
                    "{held} refusals more of this source within a minute, of which this was the last"
                ));
                Some((call, end))
            })
            .collect()
    }

    fn source(&self, call: &Call) -> FloodSource {
        let source = match &call.principal {
            Some(principal) => FloodSource::Principal(principal.clone()),
            None => FloodSource::Peer(call.peer.clone()),
        };
        match self.sources.len() >= SOURCES && !self.sources.contains_key(&source) {
            true => FloodSource::Others,
            false => source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::security_db::audit::record::{AuditOutcome, Via};

    fn refusal(principal: Option<&str>, peer: &str) -> (Call, End) {
        let mut call = Call::new(Via::Http, "GET /api/repos");
        call.principal = principal.map(str::to_owned);
        call.peer = Some(peer.to_owned());
        (call, End::new(AuditOutcome::Refused))
    }

    fn taken(floods: &mut Floods, times: usize, principal: Option<&str>, peer: &str) -> usize {
        (0..times)
            .filter(|_| {
                let (call, end) = refusal(principal, peer);
                floods.take(call, end).is_some()
            })
            .count()
    }

    #[test]
    fn a_few_are_recorded_and_the_rest_is_counted() {
        let mut floods = Floods::new();
        assert_eq!(taken(&mut floods, 1000, None, "10.0.0.1"), EACH);
        assert_eq!(taken(&mut floods, 3, None, "10.0.0.2"), 3);
        assert_eq!(taken(&mut floods, 1000, Some("token:x"), "10.0.0.1"), EACH);
        assert!(floods.due().is_some());
        assert!(floods.tell(Instant::now(), false).is_empty(), "not yet");
        let mut told = floods.tell(Instant::now() + WINDOW, false);
        told.sort_by_key(|(call, _)| call.principal.clone());
        let counts: Vec<_> = told.iter().map(|(_, end)| end.count).collect();
        assert_eq!(counts, [1000 - EACH as u64, 1000 - EACH as u64]);
        assert_eq!(told[0].0.peer.as_deref(), Some("10.0.0.1"));
        assert_eq!(told[1].0.principal.as_deref(), Some("token:x"));
        assert!(floods.due().is_none());
        assert_eq!(taken(&mut floods, 1, None, "10.0.0.1"), 1, "a new minute");
    }

    #[test]
    fn many_addresses_are_no_way_around_it_and_hide_nobody_who_is_known() {
        let mut floods = Floods::new();
        let addresses = 10 * SOURCES;
        let recorded: usize = (0..addresses)
            .map(|n| {
                taken(
                    &mut floods,
                    1,
                    None,
                    &format!("10.0.{}.{}", n / 256, n % 256),
                )
            })
            .sum();
        assert_eq!(recorded, STRANGERS);
        let told = floods.tell(Instant::now(), true);
        assert!(told.len() <= SOURCES + 1, "{}", told.len());
        let counted: u64 = told.iter().map(|(_, end)| end.count).sum();
        assert_eq!(counted, (addresses - STRANGERS) as u64);
        let mut floods = Floods::new();
        taken(&mut floods, 10 * STRANGERS, None, "10.0.0.1");
        assert_eq!(taken(&mut floods, 5, Some("token:x"), "10.0.0.1"), 5);
    }
}
