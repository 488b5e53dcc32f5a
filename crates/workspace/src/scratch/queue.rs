//! Who has which scratch worktree of one repo, and who waits for one.

use std::collections::{BTreeMap, VecDeque};

/// How a scratch worktree is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// By a job; it counts against the most that may be leased.
    Leased,
    /// Beside the pool, for a person to look into it.
    Held,
    /// It is being removed.
    Removing,
}

/// One that is on disk and free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Idle {
    /// When it was last used, in ticks; none where that is not known any more.
    pub(super) used: Option<u64>,
    /// As measured since.
    pub(super) bytes: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct RepoScratch {
    next_ticket: u64,
    line: VecDeque<u64>,
    out: BTreeMap<u32, Hold>,
    idle: BTreeMap<u32, Idle>,
}

impl RepoScratch {
    pub(super) fn with_idle(idle: BTreeMap<u32, Idle>) -> Self {
        Self {
            idle,
            ..Self::default()
        }
    }

    /// Takes the last place in the line.
    pub(super) fn enter(&mut self) -> u64 {
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.line.push_back(ticket);
        ticket
    }

    pub(super) fn leave(&mut self, ticket: u64) {
        self.line.retain(|other| *other != ticket);
    }

    /// A number for the first in the line if fewer than `most` are leased, or else the place in the line, from 1.
    pub(super) fn take(&mut self, ticket: u64, most: usize) -> Result<u32, usize> {
        let place = self.line.iter().position(|other| *other == ticket);
        let place = place.unwrap_or(0);
        let leased = self.out.values().filter(|hold| **hold == Hold::Leased);
        if place > 0 || leased.count() >= most.max(1) {
            return Err(place + 1);
        }
        self.line.pop_front();
        let number = self.next_number();
        self.idle.remove(&number);
        self.out.insert(number, Hold::Leased);
        Ok(number)
    }

    /// The one that was used last: most of its files are the right ones. Else the lowest that is free.
    fn next_number(&self) -> u32 {
        let latest = self.idle.iter().max_by_key(|(_, idle)| idle.used);
        let unused = || (1..).find(|number| !self.out.contains_key(number));
        latest.map_or_else(|| unused().unwrap_or(u32::MAX), |(number, _)| *number)
    }

    /// Takes this one, unless it is in use.
    pub(super) fn take_number(&mut self, number: u32, hold: Hold) -> bool {
        if self.out.contains_key(&number) {
            return false;
        }
        self.idle.remove(&number);
        self.out.insert(number, hold);
        true
    }

    /// Takes this one for its removal, if it is idle.
    pub(super) fn take_idle(&mut self, number: u32) -> Option<Idle> {
        let idle = self.idle.remove(&number)?;
        self.out.insert(number, Hold::Removing);
        Some(idle)
    }

    pub(super) fn change(&mut self, number: u32, hold: Hold) {
        if let Some(known) = self.out.get_mut(&number) {
            *known = hold;
        }
    }

    /// It is free from now on; without `idle` it is gone.
    pub(super) fn give_back(&mut self, number: u32, idle: Option<Idle>) {
        self.out.remove(&number);
        if let Some(idle) = idle {
            self.idle.insert(number, idle);
        }
    }

    pub(super) fn measured(&mut self, number: u32, bytes: u64) {
        if let Some(idle) = self.idle.get_mut(&number) {
            idle.bytes = Some(bytes);
        }
    }

    pub(super) fn idle(&self) -> &BTreeMap<u32, Idle> {
        &self.idle
    }

    pub(super) fn out(&self) -> &BTreeMap<u32, Hold> {
        &self.out
    }

    /// Nobody has or awaits one.
    pub(super) fn is_unwanted(&self) -> bool {
        self.out.is_empty() && self.line.is_empty()
    }
}
