//! From which commits the build output of a workspace was made: what is asked before a protected branch takes over
//! any of it, and before a secret is given to what runs beside it.
//!
//! The record is changed before the deed, so a crash leaves it too careful, never too trusting.

use git2::{Oid, Repository};
use serde::{Deserialize, Serialize};

use crate::Error;
use branchyard_git as git;
use branchyard_git::oid;
use branchyard_model::CommitId;

/// More heads of unrelated histories than this are not kept apart.
const MANY: usize = 16;

/// What went into the build output of a workspace since it was last checked out clean.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum BuiltFrom {
    /// These commits and their ancestors, and nothing else.
    Commits(Vec<CommitId>),
    /// Perhaps something else: changed files, or variables of a caller. So it is for records that do not say.
    #[default]
    Unknown,
}

impl BuiltFrom {
    /// Of a workspace in which nothing was built yet.
    pub(crate) fn nothing() -> Self {
        Self::Commits(Vec::new())
    }

    /// Whether `tip`, a commit of `store`, has all of it in its history.
    pub(crate) fn is_in(&self, store: &Repository, tip: Oid) -> Result<bool, Error> {
        let Self::Commits(commits) = self else {
            return Ok(false);
        };
        for commit in commits {
            if !is_ancestor(store, oid(commit)?, tip)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The same with `commit` added. Of a history only its newest commit is kept, so that a branch that is
    /// built at each of its commits has one.
    pub(crate) fn with(self, store: &Repository, commit: &CommitId) -> Result<Self, Error> {
        let Self::Commits(mut commits) = self else {
            return Ok(Self::Unknown);
        };
        let mut kept = vec![commit.clone()];
        let new = oid(commit)?;
        for known in commits.drain(..) {
            if !is_ancestor(store, oid(&known)?, new)? {
                kept.push(known);
            }
        }
        Ok(match kept.len() > MANY {
            true => Self::Unknown,
            false => Self::Commits(kept),
        })
    }
}

/// Whether `commit` is `tip` or in its history.
pub(crate) fn is_ancestor(store: &Repository, commit: Oid, tip: Oid) -> Result<bool, Error> {
    let is_below = || store.graph_descendant_of(tip, commit);
    Ok(commit == tip || is_below().map_err(git::Error::from)?)
}

#[cfg(test)]
mod tests {
    use git2::Signature;

    use super::*;

    fn commit(store: &Repository, name: &str, parents: &[Oid]) -> Oid {
        let who = Signature::now("Test", "test@localhost").unwrap();
        let tree = store.treebuilder(None).unwrap().write().unwrap();
        let tree = store.find_tree(tree).unwrap();
        let parents: Vec<_> = parents
            .iter()
            .map(|id| store.find_commit(*id).unwrap())
            .collect();
        let parents: Vec<_> = parents.iter().collect();
        let made = store.commit(None, &who, &who, name, &tree, &parents);
        made.unwrap()
    }

    #[test]
    fn a_history_is_kept_by_its_newest_commit_and_others_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Repository::init_bare(dir.path()).unwrap();
        let id = |oid: Oid| CommitId::parse(&oid.to_string()).unwrap();
        let first = commit(&store, "first", &[]);
        let second = commit(&store, "second", &[first]);
        let topic = commit(&store, "topic", &[first]);

        let mut built = BuiltFrom::nothing();
        assert!(built.is_in(&store, first).unwrap());
        for commit in [first, second, first, second] {
            built = built.with(&store, &id(commit)).unwrap();
        }
        assert!(built.is_in(&store, second).unwrap());
        assert!(!built.is_in(&store, first).unwrap());
        assert!(!built.is_in(&store, topic).unwrap());

        let both = built.clone().with(&store, &id(topic)).unwrap();
        assert!(!both.is_in(&store, second).unwrap());
        let merged = commit(&store, "merged", &[second, topic]);
        assert!(both.is_in(&store, merged).unwrap());
        assert!(!BuiltFrom::Unknown.is_in(&store, merged).unwrap());

        for n in 0..MANY {
            let apart = commit(&store, &format!("apart {n}"), &[]);
            built = built.with(&store, &id(apart)).unwrap();
        }
        assert_eq!(built, BuiltFrom::Unknown);
    }
}
