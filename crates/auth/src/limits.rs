//! How much one principal may ask for and have at once, and how often one address may fail to say who it
//! is. Nobody is slowed by what another does: everything is counted by principal or address.
//!
//! A good credential is always heard, whatever else came from its address: keys are too long to be
//! guessed at any rate, and else whoever shares an address with somebody could lock them out. What failures
//! are bounded for is the work and the records that they cause.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::clock::Clock;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use parking_lot::Mutex;

use super::Peer;
use super::hook_places::{HookPlace, HookPlaces};
use branchyard_config::Limits;
use branchyard_model::{ErrorKind, Problem};

/// Those who were not seen for long are forgotten after so many looks.
const BETWEEN_SWEEPS: u64 = 4096;
/// When to try again where only a neighbour's end can tell.
const TRY_AGAIN: u64 = 5;

/// All counts; one for each daemon.
#[derive(Debug)]
pub struct Limiter {
    max_requests: usize,
    max_streams: usize,
    requests: Pace<String>,
    failures: Pace<Peer>,
    in_use: InUse,
    hooks: HookPlaces,
}

/// What a request takes while it is being answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Use {
    /// An answer that has an end of its own.
    Request,
    /// One that goes on for as long as there is something to tell.
    Stream,
}

/// A place among those of one principal; given back when dropped.
#[derive(Debug)]
#[must_use = "it is given back at once"]
pub struct Permit {
    of: (Use, String),
    in_use: InUse,
}

type InUse = Arc<Mutex<HashMap<(Use, String), usize>>>;

impl Limiter {
    pub fn new(limits: &Limits) -> Self {
        let per_second = Quota::per_second(at_least_one(limits.max_requests_per_second));
        let per_minute = Quota::per_minute(at_least_one(limits.max_failures_per_minute));
        Self {
            max_requests: limits.max_concurrent_requests_per_principal,
            max_streams: limits.max_streams_per_principal,
            requests: Pace::new(per_second.allow_burst(at_least_one(limits.max_request_burst))),
            failures: Pace::new(per_minute),
            in_use: Arc::default(),
            hooks: HookPlaces::default(),
        }
    }

    /// Lets a request of `who` in, for as long as the permit is kept.
    pub fn admit(&self, who: &str, what: Use) -> Result<Permit, Problem> {
        if let Err(wait) = self.requests.count(&who.to_owned()) {
            let detail = format!("{who} asks more often than one principal may");
            let key = "limits.max_requests_per_second";
            return Err(refusal("rate_limited", &detail, key, seconds(wait)));
        }
        let most = match what {
            Use::Request => self.max_requests,
            Use::Stream => self.max_streams,
        };
        let key_of_use = (what, who.to_owned());
        let mut in_use = self.in_use.lock();
        let of_theirs = in_use.entry(key_of_use.clone()).or_default();
        if *of_theirs >= most {
            return Err(match what {
                Use::Request => {
                    let detail = format!("{most} requests of {who} are being answered");
                    let key = "limits.max_concurrent_requests_per_principal";
                    refusal("too_many_requests", &detail, key, TRY_AGAIN)
                }
                Use::Stream => {
                    let detail = format!("{most} streams of {who} are open");
                    let key = "limits.max_streams_per_principal";
                    refusal("too_many_streams", &detail, key, TRY_AGAIN)
                }
            });
        }
        *of_theirs += 1;
        if what == Use::Stream {
            metrics::gauge!("branchyard_streams").increment(1.0);
        }
        Ok(Permit {
            of: key_of_use,
            in_use: self.in_use.clone(),
        })
    }

    /// Lets the body of a webhook in, for as long as the place is kept.
    pub fn admit_hook(&self, peer: Peer) -> Result<HookPlace, Problem> {
        self.hooks.take(peer)
    }

    /// Counts a request without a good credential; beyond the limit, what to tell it instead.
    pub fn failed(&self, peer: Peer) -> Result<(), Problem> {
        self.failures.count(&peer).map_err(|wait| {
            let detail = "too many requests without a good credential came from this address";
            let key = "limits.max_failures_per_minute";
            refusal("too_many_failures", detail, key, seconds(wait))
        })
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut in_use = self.in_use.lock();
        if let Entry::Occupied(mut of_theirs) = in_use.entry(self.of.clone()) {
            *of_theirs.get_mut() -= 1;
            if *of_theirs.get() == 0 {
                of_theirs.remove();
            }
        }
        if self.of.0 == Use::Stream {
            metrics::gauge!("branchyard_streams").decrement(1.0);
        }
    }
}

/// How often something may happen, for each of many.
#[derive(Debug)]
struct Pace<K: Hash + Eq + Clone> {
    limiter: DefaultKeyedRateLimiter<K>,
    looks: AtomicU64,
}

impl<K: Hash + Eq + Clone> Pace<K> {
    fn new(quota: Quota) -> Self {
        Self {
            limiter: RateLimiter::keyed(quota),
            looks: AtomicU64::new(0),
        }
    }

    /// Counts one more, or says how long to wait.
    fn count(&self, key: &K) -> Result<(), Duration> {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        if looks % BETWEEN_SWEEPS == BETWEEN_SWEEPS - 1 {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
        }
        self.limiter
            .check_key(key)
            .map_err(|until| until.wait_time_from(self.limiter.clock().now()))
    }
}

fn refusal(code: &'static str, detail: &str, key: &str, retry_after: u64) -> Problem {
    metrics::counter!("branchyard_refused_by_limit_total", "code" => code).increment(1);
    Problem::new(ErrorKind::TooMany, code, format!("{detail}; {key} is the limit"))
        .help("wait as long as Retry-After says, or have less under way at once; the operator can raise the limit")
        .retry_after(retry_after)
}

/// Whole seconds, rounded up: who comes back then is let in.
fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

/// The configuration allows no zero, and nothing that does not fit.
fn at_least_one(count: usize) -> NonZeroU32 {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(change: impl FnOnce(&mut Limits)) -> Limiter {
        let mut limits = Limits::default();
        change(&mut limits);
        Limiter::new(&limits)
    }

    fn code(refused: Result<Permit, Problem>) -> String {
        let problem = refused.unwrap_err();
        assert_eq!(problem.kind, ErrorKind::TooMany);
        assert!(problem.detail.contains("limits.max_"), "{problem}");
        assert!(problem.retry_after.is_some_and(|seconds| seconds > 0));
        problem.code
    }

    #[test]
    fn one_principal_has_so_many_and_another_has_its_own() {
        let limiter = limiter(|_| {});
        let mut streams: Vec<_> = (0..512)
            .map(|_| limiter.admit("greedy", Use::Stream).unwrap())
            .collect();
        assert_eq!(
            code(limiter.admit("greedy", Use::Stream)),
            "too_many_streams"
        );
        let _other = limiter.admit("modest", Use::Stream).unwrap();
        let _request = limiter.admit("greedy", Use::Request).unwrap();
        streams.pop();
        streams.push(limiter.admit("greedy", Use::Stream).unwrap());
        assert_eq!(
            code(limiter.admit("greedy", Use::Stream)),
            "too_many_streams"
        );
    }

    #[test]
    fn requests_are_bounded_beside_streams_and_nobody_is_remembered_for_ever() {
        let limiter = limiter(|limits| {
            limits.max_concurrent_requests_per_principal = 1;
            limits.max_streams_per_principal = 1;
        });
        let request = limiter.admit("a", Use::Request).unwrap();
        let stream = limiter.admit("a", Use::Stream).unwrap();
        assert_eq!(code(limiter.admit("a", Use::Request)), "too_many_requests");
        drop(request);
        drop(limiter.admit("a", Use::Request).unwrap());
        drop(stream);
        assert!(limiter.in_use.lock().is_empty());
    }

    #[test]
    fn the_pace_is_kept_for_each() {
        let limiter = limiter(|limits| {
            limits.max_requests_per_second = 1;
            limits.max_request_burst = 3;
            limits.max_failures_per_minute = 2;
        });
        for _ in 0..3 {
            drop(limiter.admit("a", Use::Request).unwrap());
        }
        assert_eq!(code(limiter.admit("a", Use::Request)), "rate_limited");
        drop(limiter.admit("b", Use::Request).unwrap());

        for _ in 0..2 {
            limiter.failed(Peer::Loopback).unwrap();
        }
        let problem = limiter.failed(Peer::Loopback).unwrap_err();
        assert_eq!(problem.code, "too_many_failures");
        assert!(problem.retry_after.is_some_and(|seconds| seconds <= 60));
        limiter.failed(Peer::Socket).unwrap();
    }
}
