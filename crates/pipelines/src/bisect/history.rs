//! The commits that may be the first bad one, with their parents among them.

use std::collections::HashMap;

use branchyard_git::LinkedCommit;
use branchyard_model::CommitId;

/// Commits by their places: no parent before its child.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    commits: Vec<LinkedCommit>,
    places: HashMap<CommitId, usize>,
    /// Those of them that are in it.
    parents: Vec<Vec<usize>>,
}

impl History {
    /// As git lists them.
    pub(crate) fn new(commits: Vec<LinkedCommit>) -> Self {
        let places: HashMap<_, _> = commits
            .iter()
            .enumerate()
            .map(|(place, linked)| (linked.commit.clone(), place))
            .collect();
        let parents = commits.iter().map(|linked| {
            let known = linked.parents.iter().filter_map(|id| places.get(id));
            known.copied().collect()
        });
        Self {
            parents: parents.collect(),
            places,
            commits,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.commits.len()
    }

    pub(crate) fn commit(&self, place: usize) -> &CommitId {
        &self.commits[place].commit
    }

    /// All parents of a commit, those that are not in it as well.
    pub(crate) fn all_parents(&self, place: usize) -> &[CommitId] {
        &self.commits[place].parents
    }

    pub(crate) fn place(&self, commit: &CommitId) -> Option<usize> {
        self.places.get(commit).copied()
    }

    pub(crate) fn parents(&self, place: usize) -> &[usize] {
        &self.parents[place]
    }

    /// Whether each commit is in the history of one of them, which they are themselves.
    pub(crate) fn reached_from(&self, tips: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut is_reached = vec![false; self.len()];
        let mut left: Vec<_> = tips.into_iter().collect();
        while let Some(place) = left.pop() {
            if !std::mem::replace(&mut is_reached[place], true) {
                left.extend(self.parents(place).iter().filter(|it| !is_reached[**it]));
            }
        }
        is_reached
    }
}
