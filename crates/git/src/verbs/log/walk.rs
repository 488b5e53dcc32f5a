//! Through history as `git log` goes: the youngest commit first, and those of one second in the order in
//! which they were come upon. libgit2's own walk knows no paths, so that this one decides at each commit
//! which parents matter, by git's rules of simplification: a merge that has the path from one parent
//! unchanged is as if it had no other.

use std::collections::VecDeque;
use std::path::Path;

use git2::Oid;

use super::graph::{CommitQueue, Graph, Read};
use super::place::Place;
use crate::verbs::budget::Budget;
use crate::{Error, Repository};

/// How many hidden commits in a row are looked at before the rest is taken to be hidden, too: clocks
/// differ, and a parent may be younger than its child.
const SLOP: usize = 5;

/// Where a walk begins, and what it leaves out with all that comes before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ends {
    pub(crate) shown: Vec<Oid>,
    pub(crate) hidden: Vec<Oid>,
    /// `hidden` is where the two that are shown parted.
    pub is_symmetric: bool,
}

/// What is walked past.
#[derive(Debug, Clone, Copy, Default)]
pub struct Bounds {
    /// Seconds since 1970, both inclusive.
    pub since: Option<i64>,
    pub until: Option<i64>,
    pub first_parent: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStep {
    Commit(Oid),
    End,
    /// The budget was spent at this commit.
    GaveUp(Oid),
}

pub struct Walk<'repo> {
    graph: Graph<'repo>,
    bounds: Bounds,
    place: Option<Place<'repo>>,
    budget: Budget,
    queue: CommitQueue,
    /// How many of those in the queue are not hidden.
    interesting: usize,
    /// What is to be shown of a range, which has to be walked as a whole first: a commit may turn out to
    /// be hidden after it was come upon.
    range: Option<VecDeque<Oid>>,
    is_range: bool,
}

impl<'repo> Walk<'repo> {
    pub fn new(
        repo: &'repo Repository,
        ends: &Ends,
        path: Option<&Path>,
        bounds: Bounds,
        budget: Budget,
    ) -> Result<Self, Error> {
        let mut walk = Self {
            graph: Graph::new(repo),
            bounds,
            place: path.map(|path| Place::new(repo, path)),
            budget,
            queue: CommitQueue::default(),
            interesting: 0,
            range: None,
            is_range: !ends.hidden.is_empty(),
        };
        if let ([one, other], true) = (&ends.shown[..], ends.is_symmetric) {
            walk.graph.read_between(*one, *other, &mut walk.budget)?;
        }
        for id in &ends.hidden {
            let node = walk.graph.node(*id);
            (node.is_hidden, node.is_bottom) = (true, true);
        }
        for id in &ends.hidden {
            walk.graph.read(*id)?;
            walk.hide_parents(*id);
            walk.enqueue(*id)?;
        }
        for id in &ends.shown {
            walk.enqueue(*id)?;
        }
        Ok(walk)
    }

    /// The next commit to show.
    pub fn step(&mut self) -> Result<LogStep, Error> {
        if !self.is_range {
            return self.stroll();
        }
        if self.range.is_none()
            && let Some(at) = self.limit()?
        {
            return Ok(LogStep::GaveUp(at));
        }
        let shown = self.range.as_mut().and_then(VecDeque::pop_front);
        Ok(shown.map_or(LogStep::End, LogStep::Commit))
    }

    /// Commit by commit, where nothing is hidden.
    fn stroll(&mut self) -> Result<LogStep, Error> {
        while let Some((id, time)) = self.dequeue() {
            if self.budget.is_spent() {
                return Ok(LogStep::GaveUp(id));
            }
            if self.bounds.since.is_some_and(|since| time < since) {
                continue;
            }
            self.follow(id)?;
            if self.bounds.until.is_none_or(|until| time <= until) && !self.graph.node(id).is_same {
                return Ok(LogStep::Commit(id));
            }
        }
        Ok(LogStep::End)
    }

    /// Walks until nothing but hidden commits is left; where it gave up, if it did.
    fn limit(&mut self) -> Result<Option<Oid>, Error> {
        let (mut found, mut youngest, mut slop) = (Vec::new(), i64::MAX, SLOP);
        while let Some((id, time)) = self.dequeue() {
            if self.budget.is_spent() {
                return Ok(Some(id));
            }
            if self.bounds.since.is_some_and(|since| time < since) {
                self.graph.node(id).is_hidden = true;
            }
            self.follow(id)?;
            if self.graph.node(id).is_hidden {
                self.hide_parents(id);
                slop = match self.queue.next_time() {
                    None => break,
                    Some(next) if youngest <= next || self.interesting > 0 => SLOP,
                    Some(_) => slop - 1,
                };
                if slop == 0 {
                    break;
                }
            } else if self.bounds.until.is_none_or(|until| time <= until) {
                youngest = time;
                found.push(id);
            }
        }
        found.retain(|id| {
            let node = self.graph.node(*id);
            !node.is_hidden && !node.is_same
        });
        self.range = Some(found.into());
        Ok(None)
    }

    /// Puts those parents of a commit into the queue that are to be followed.
    fn follow(&mut self, id: Oid) -> Result<(), Error> {
        if self.graph.node(id).is_hidden {
            for parent in self.graph.read(id)?.parents {
                self.hide(parent);
                self.graph.read(parent)?;
                self.hide_parents(parent);
                self.enqueue(parent)?;
            }
            return Ok(());
        }
        self.simplify(id)?;
        let parents = self.graph.read(id)?.parents;
        let most = if self.bounds.first_parent {
            1
        } else {
            usize::MAX
        };
        for parent in parents.into_iter().take(most) {
            self.enqueue(parent)?;
        }
        Ok(())
    }

    /// Finds out whether a commit left the path as it was, and forgets the parents that do not matter for
    /// that reason.
    fn simplify(&mut self, id: Oid) -> Result<(), Error> {
        let Some(mut place) = self.place.take() else {
            return Ok(());
        };
        let same = self.compare(id, &mut place);
        self.place = Some(place);
        self.graph.node(id).is_same = same?;
        Ok(())
    }

    fn compare(&mut self, id: Oid, place: &mut Place<'_>) -> Result<bool, Error> {
        let Read { tree, parents, .. } = self.graph.read(id)?;
        if parents.is_empty() {
            return Ok(!place.is_in(tree)?);
        }
        let compared = if self.bounds.first_parent {
            1
        } else {
            parents.len()
        };
        // Parents that are left out matter only where there are no others.
        let (mut relevant, mut changed, mut changed_beyond) = (false, false, false);
        for (n, parent) in parents.iter().enumerate() {
            let beyond = self.graph.read(*parent)?;
            let node = self.graph.node(*parent);
            let is_relevant = !node.is_hidden || node.is_bottom;
            relevant |= is_relevant;
            if n >= compared {
                break;
            }
            match (place.is_same(tree, beyond.tree)?, is_relevant) {
                (true, true) => {
                    self.graph.keep_parent(id, *parent);
                    return Ok(true);
                }
                (true, false) => {}
                (false, true) => changed = true,
                (false, false) => changed_beyond = true,
            }
        }
        Ok(!if relevant { changed } else { changed_beyond })
    }

    /// Every commit is in the queue once at most.
    fn enqueue(&mut self, id: Oid) -> Result<(), Error> {
        let time = self.graph.read(id)?.time;
        let node = self.graph.node(id);
        if node.is_seen {
            return Ok(());
        }
        (node.is_seen, node.is_queued) = (true, true);
        self.interesting += usize::from(!node.is_hidden);
        self.queue.push(time, id);
        Ok(())
    }

    fn dequeue(&mut self) -> Option<(Oid, i64)> {
        let (time, id) = self.queue.pop()?;
        let node = self.graph.node(id);
        node.is_queued = false;
        self.interesting -= usize::from(!node.is_hidden);
        Some((id, time))
    }

    /// Whether it was not hidden before.
    fn hide(&mut self, id: Oid) -> bool {
        let node = self.graph.node(id);
        if node.is_hidden {
            return false;
        }
        node.is_hidden = true;
        self.interesting -= usize::from(node.is_queued);
        true
    }

    /// Hides what comes before a commit, as far as that was read; the walk itself does the rest.
    fn hide_parents(&mut self, id: Oid) {
        let mut pending = self.graph.parents_read(id);
        while let Some(id) = pending.pop() {
            if self.hide(id) {
                pending.extend(self.graph.parents_read(id));
            }
        }
    }
}

#[cfg(test)]
mod tests;
