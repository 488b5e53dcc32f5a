//! Through history as `git log` goes, by libgit2: the youngest commit first, and those of one second in the order in
//! which they were come upon. It knows no paths and no times; for those git itself is asked.

use std::cmp::Reverse;

use git2::{Oid, Revwalk};

use crate::verbs::budget::Budget;
use crate::{Error, Repository};

/// Where a walk begins, and what it leaves out with all that comes before it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ends {
    pub(crate) shown: Vec<Oid>,
    pub(crate) hidden: Vec<Oid>,
    /// What both of those that are shown have is left out.
    pub is_symmetric: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogStep {
    Commit(Oid),
    End,
    /// The budget was spent at this commit.
    GaveUp(Oid),
}

pub struct Walk<'repo> {
    commits: Revwalk<'repo>,
    budget: Budget,
}

impl<'repo> Walk<'repo> {
    pub fn new(
        repo: &'repo Repository,
        ends: &Ends,
        first_parent: bool,
        budget: Budget,
    ) -> Result<Self, Error> {
        let mut commits = repo.git2().revwalk()?;
        if first_parent {
            commits.simplify_first_parent()?;
        }
        let hidden = ends.hidden.iter().map(|id| (*id, true));
        let shown = ends.shown.iter().map(|id| (*id, false));
        let mut begin = Vec::new();
        for (id, is_hidden) in hidden.chain(shown) {
            begin.push((repo.git2().find_commit(id)?.time().seconds(), id, is_hidden));
        }
        begin.sort_by_key(|(time, ..)| Reverse(*time));
        // Libgit2 begins with what it is told last.
        for (_, id, is_hidden) in begin.into_iter().rev() {
            match is_hidden {
                true => commits.hide(id)?,
                false => commits.push(id)?,
            }
        }
        Ok(Self { commits, budget })
    }

    /// The next commit to show.
    pub fn step(&mut self) -> Result<LogStep, Error> {
        Ok(match self.commits.next().transpose()? {
            None => LogStep::End,
            Some(id) if self.budget.is_spent() => LogStep::GaveUp(id),
            Some(id) => LogStep::Commit(id),
        })
    }
}

#[cfg(test)]
mod tests;
