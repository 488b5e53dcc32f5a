//! Commits as far as a walk has read them, and what it knows of each.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use git2::Oid;

use crate::verbs::budget::Budget;
use crate::{Error, Repository};

pub(super) struct Graph<'repo> {
    repo: &'repo Repository,
    nodes: HashMap<Oid, Node>,
}

/// What is known of a commit. One can be hidden before it is read.
#[derive(Debug, Default)]
pub(super) struct Node {
    read: Option<Read>,
    pub(super) is_hidden: bool,
    /// Named by the caller as what to leave out: a merge may still be the same as it.
    pub(super) is_bottom: bool,
    pub(super) is_seen: bool,
    pub(super) is_queued: bool,
    /// It left the path as it was.
    pub(super) is_same: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Read {
    pub(super) time: i64,
    pub(super) tree: Oid,
    /// Those that are followed.
    pub(super) parents: Vec<Oid>,
}

/// The youngest first, then the first that came.
#[derive(Debug, Default)]
pub(super) struct CommitQueue {
    waiting: BinaryHeap<(i64, Reverse<u64>, Oid)>,
    came: u64,
}

impl CommitQueue {
    pub(super) fn push(&mut self, time: i64, id: Oid) {
        self.waiting.push((time, Reverse(self.came), id));
        self.came += 1;
    }

    pub(super) fn pop(&mut self) -> Option<(i64, Oid)> {
        self.waiting.pop().map(|(time, _, id)| (time, id))
    }

    /// The time of the next.
    pub(super) fn next_time(&self) -> Option<i64> {
        self.waiting.peek().map(|(time, ..)| *time)
    }

    fn any(&self, wanted: impl Fn(Oid) -> bool) -> bool {
        self.waiting.iter().any(|(.., id)| wanted(*id))
    }
}

impl<'repo> Graph<'repo> {
    pub(super) fn new(repo: &'repo Repository) -> Self {
        Self {
            repo,
            nodes: HashMap::new(),
        }
    }

    pub(super) fn node(&mut self, id: Oid) -> &mut Node {
        self.nodes.entry(id).or_default()
    }

    pub(super) fn read(&mut self, id: Oid) -> Result<Read, Error> {
        let repo = self.repo;
        let node = self.node(id);
        if let Some(read) = &node.read {
            return Ok(read.clone());
        }
        let commit = repo.git2().find_commit(id)?;
        let read = Read {
            time: commit.time().seconds(),
            tree: commit.tree_id(),
            parents: commit.parent_ids().collect(),
        };
        node.read = Some(read.clone());
        Ok(read)
    }

    /// The parents of a commit, as far as it was read.
    pub(super) fn parents_read(&self, id: Oid) -> Vec<Oid> {
        let read = self.nodes.get(&id).and_then(|node| node.read.as_ref());
        read.map_or_else(Vec::new, |read| read.parents.clone())
    }

    /// From here on the commit is as if it had this parent alone.
    pub(super) fn keep_parent(&mut self, id: Oid, parent: Oid) {
        if let Some(read) = &mut self.node(id).read {
            read.parents = vec![parent];
        }
    }

    /// Reads what git reads to find where two commits parted. Where clocks went wrong it matters for what is
    /// shown which commits were known before.
    pub(super) fn read_between(
        &mut self,
        one: Oid,
        other: Oid,
        budget: &mut Budget,
    ) -> Result<(), Error> {
        const ONE: u8 = 1;
        const OTHER: u8 = 2;
        const STALE: u8 = 4;
        let mut sides: HashMap<Oid, u8> = HashMap::new();
        let mut queue = CommitQueue::default();
        for (id, side) in [(one, ONE), (other, OTHER)] {
            *sides.entry(id).or_default() |= side;
            queue.push(self.read(id)?.time, id);
        }
        while queue.any(|id| sides.get(&id).is_none_or(|side| side & STALE == 0)) {
            let Some((_, id)) = queue.pop().filter(|_| !budget.is_spent()) else {
                break;
            };
            let mut side = sides.get(&id).copied().unwrap_or_default();
            if side == ONE | OTHER {
                side |= STALE;
            }
            for parent in self.read(id)?.parents {
                let known = sides.entry(parent).or_default();
                if *known & side != side {
                    *known |= side;
                    queue.push(self.read(parent)?.time, parent);
                }
            }
        }
        Ok(())
    }
}
