//! Where an operation began. Git's files tell while it is under way, and are gone when it has ended.

use std::{fmt, fs};

use git2::Oid;

use super::way::{Step, Way};
use crate::verbs::operation::{Operation, steps_planned, to_come};
use crate::{Error, Repository, head};

#[derive(Debug, Clone)]
pub struct Origin {
    /// The tip of the branch before it.
    pub(crate) head: Oid,
    /// What was there already and is brought in: the merged commit, or the one that is rebased onto.
    pub(crate) brought: Vec<Oid>,
    /// As many commits are to be made, where that is known.
    pub planned: Option<usize>,
}

impl Origin {
    /// Of what is under way. Blocks.
    pub fn of(repo: &Repository, operation: Operation) -> Result<Self, Error> {
        let here = head(repo)?.commit;
        let ids = |name: &str| -> Vec<Oid> {
            let text = fs::read_to_string(repo.path().join(name)).unwrap_or_default();
            let ids = text
                .lines()
                .filter_map(|line| Oid::from_str(line.trim()).ok());
            ids.collect()
        };
        let first = |names: [&str; 2]| names.iter().find_map(|name| ids(name).first().copied());
        Ok(match operation {
            Operation::Rebase => Self {
                head: first(["rebase-merge/orig-head", "rebase-apply/orig-head"])
                    .unwrap_or(here.git2()),
                brought: first(["rebase-merge/onto", "rebase-apply/onto"])
                    .into_iter()
                    .collect(),
                planned: None,
            },
            Operation::CherryPick | Operation::Revert => Self {
                head: ids("sequencer/head")
                    .first()
                    .copied()
                    .unwrap_or(here.git2()),
                brought: Vec::new(),
                planned: Some(steps_planned(repo)?),
            },
            _ => Self {
                head: here.git2(),
                brought: ids("MERGE_HEAD"),
                planned: None,
            },
        })
    }

    /// What is written when it is put back as it was. Blocks.
    pub fn way_back(&self, repo: &Repository) -> Result<Way, Error> {
        let here = head(repo)?.commit;
        let back = Step {
            base: Some(here.git2()),
            ours: here.git2(),
            theirs: self.head,
        };
        Way::of(repo, &[back])
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.head)?;
        self.brought.iter().try_for_each(|id| write!(f, " {id}"))
    }
}

/// What is written when the operation goes on. Blocks.
pub fn way_on(repo: &Repository, operation: Operation) -> Result<Way, Error> {
    let here = head(repo)?.commit;
    let mut steps = Vec::new();
    for commit in to_come(repo) {
        if operation != Operation::Merge {
            steps.extend(Step::of(repo, operation, commit, here.git2(), None)?);
        }
    }
    Way::of(repo, &steps)
}
