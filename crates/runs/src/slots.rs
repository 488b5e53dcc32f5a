//! How many commands execute at once: in all, and per repo. Whoever waits is served in turn with the
//! others who wait, and each of their repos in turn; within that, first come, first served. So nobody
//! waits behind all of what another one asked for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{oneshot, watch};

use branchyard_model::RepoName;

/// A waiter is told of its position at most this often: a long queue must not flood its journals.
const BETWEEN_POSITIONS: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Slots(Arc<Mutex<Queue>>);

/// A claim to execute. It is made waiting, is granted once, and whatever it has, a place in the queue
/// or the right to execute, it gives back when dropped. So a waiter may be dropped at any moment.
#[derive(Debug)]
pub(super) struct Slot {
    queue: Arc<Mutex<Queue>>,
    ticket: u64,
    whose: Whose,
}

#[derive(Debug, Clone)]
struct Whose {
    principal: String,
    repo: RepoName,
}

#[derive(Debug)]
struct Queue {
    max: usize,
    /// Counts claims and grants, so that "before" can be said of both.
    clock: u64,
    /// Those who run or wait for something.
    principals: HashMap<String, Principal>,
}

#[derive(Debug, Default)]
struct Principal {
    /// When it was last granted a slot.
    granted: u64,
    /// Those that it runs or waits for something in.
    repos: HashMap<RepoName, Line>,
}

/// What one principal has in one repo.
#[derive(Debug, Default)]
struct Line {
    granted: u64,
    running: usize,
    /// By ticket.
    waiting: BTreeMap<u64, Waiter>,
}

#[derive(Debug)]
struct Waiter {
    max_of_repo: usize,
    /// 1 is next.
    position: watch::Sender<usize>,
    grant: oneshot::Sender<()>,
}

/// A waiter and where it stands.
struct Candidate<'a> {
    principal: &'a str,
    repo: &'a RepoName,
    ticket: u64,
    waiter: &'a Waiter,
}

impl Slots {
    pub(super) fn new(max: usize) -> Self {
        Self(Arc::new(Mutex::new(Queue {
            max,
            clock: 0,
            principals: HashMap::new(),
        })))
    }

    /// Waits for a slot; `on_wait` is told the position (1 is next) if it has to wait, and again when
    /// that changes.
    pub(super) async fn take(
        &self,
        principal: &str,
        repo: &RepoName,
        max_of_repo: usize,
        mut on_wait: impl FnMut(usize),
    ) -> Slot {
        let (position, mut at) = watch::channel(0);
        let (grant, mut granted) = oneshot::channel();
        let slot = self.claim(principal, repo, |queue, ticket, whose| {
            let waiter = Waiter {
                max_of_repo,
                position,
                grant,
            };
            queue.line(whose).waiting.insert(ticket, waiter);
        });
        if granted.try_recv().is_ok() {
            return slot;
        }
        let mut told = 0;
        loop {
            // Neither sender goes before the grant: only the slot's own end could take it off the queue.
            told = tokio::select! {
                biased;
                _ = &mut granted => return slot,
                Ok(now) = at.wait_for(|now| *now != told) => *now,
            };
            on_wait(told);
            tokio::select! {
                biased;
                _ = &mut granted => return slot,
                () = tokio::time::sleep(BETWEEN_POSITIONS) => {}
            }
        }
    }

    /// A slot for a command that already runs (taken over from an earlier daemon), beyond the limit if
    /// need be.
    pub(super) fn occupy(&self, principal: &str, repo: &RepoName) -> Slot {
        self.claim(principal, repo, |queue, _, whose| queue.run(whose))
    }

    fn claim(
        &self,
        principal: &str,
        repo: &RepoName,
        enter: impl FnOnce(&mut Queue, u64, &Whose),
    ) -> Slot {
        let whose = Whose {
            principal: principal.to_owned(),
            repo: repo.clone(),
        };
        let mut queue = self.0.lock();
        let ticket = queue.tick();
        enter(&mut queue, ticket, &whose);
        queue.settle();
        Slot {
            queue: self.0.clone(),
            ticket,
            whose,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut queue = self.queue.lock();
        queue.leave(&self.whose, self.ticket);
        queue.settle();
    }
}

impl Queue {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn line(&mut self, whose: &Whose) -> &mut Line {
        let principal = self.principals.entry(whose.principal.clone()).or_default();
        principal.repos.entry(whose.repo.clone()).or_default()
    }

    fn run(&mut self, whose: &Whose) {
        let now = self.tick();
        let line = self.line(whose);
        line.running += 1;
        line.granted = now;
        if let Some(principal) = self.principals.get_mut(&whose.principal) {
            principal.granted = now;
        }
    }

    /// Whoever has nothing left is forgotten: its last grant is older than any claim to come.
    fn leave(&mut self, whose: &Whose, ticket: u64) {
        let line = self.line(whose);
        if line.waiting.remove(&ticket).is_none() {
            line.running -= 1;
        }
        if line.running > 0 || !line.waiting.is_empty() {
            return;
        }
        if let Some(principal) = self.principals.get_mut(&whose.principal) {
            principal.repos.remove(&whose.repo);
            if principal.repos.is_empty() {
                self.principals.remove(&whose.principal);
            }
        }
    }

    /// Grants what is free and tells the others where they stand.
    fn settle(&mut self) {
        loop {
            let order = self.order();
            let Some(next) = self.next(&order) else {
                for (at, candidate) in order.iter().enumerate() {
                    let tell = |position: &mut usize| std::mem::replace(position, at + 1) != at + 1;
                    candidate.waiter.position.send_if_modified(tell);
                }
                return;
            };
            let whose = Whose {
                principal: next.principal.to_owned(),
                repo: next.repo.clone(),
            };
            let ticket = next.ticket;
            let waiter = self.line(&whose).waiting.remove(&ticket);
            self.run(&whose);
            if let Some(waiter) = waiter {
                // Whoever goes right now gives it back with the slot.
                let _ = waiter.grant.send(());
            }
        }
    }

    /// The first in this order whose repo is below its limit, if there is a slot at all.
    fn next<'a, 'q>(&self, order: &'a [Candidate<'q>]) -> Option<&'a Candidate<'q>> {
        let mut in_all = 0;
        let mut in_repo: HashMap<&RepoName, usize> = HashMap::new();
        for (repo, line) in self.principals.values().flat_map(|own| &own.repos) {
            in_all += line.running;
            *in_repo.entry(repo).or_default() += line.running;
        }
        let below = |candidate: &&Candidate| {
            let running = in_repo.get(candidate.repo).copied().unwrap_or_default();
            running < candidate.waiter.max_of_repo
        };
        (in_all < self.max).then(|| order.iter().find(below))?
    }

    /// All who wait, in the order in which they are to be served. Each counts what would run before it:
    /// first among a principal's repos, then, in the sequence that this gives, among the principals.
    /// Of equals the one goes first that has gone longest without: a grant counts like a new claim, for
    /// else, where one slot is all there is, whoever came first with many would be served to the end.
    fn order(&self) -> Vec<Candidate<'_>> {
        let mut all = Vec::new();
        for (principal, own) in &self.principals {
            let mut sequence = Vec::new();
            for (repo, line) in &own.repos {
                for (ahead, (ticket, waiter)) in (line.running..).zip(&line.waiting) {
                    let candidate = Candidate {
                        principal,
                        repo,
                        ticket: *ticket,
                        waiter,
                    };
                    sequence.push(((ahead, line.granted.max(*ticket)), candidate));
                }
            }
            sequence.sort_unstable_by_key(|(due, _)| *due);
            let running: usize = own.repos.values().map(|line| line.running).sum();
            for (ahead, (_, candidate)) in (running..).zip(sequence) {
                all.push(((ahead, own.granted.max(candidate.ticket)), candidate));
            }
        }
        all.sort_unstable_by_key(|(due, _)| *due);
        all.into_iter().map(|(_, candidate)| candidate).collect()
    }
}

#[cfg(test)]
mod tests;
