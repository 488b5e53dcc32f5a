//! From which commits the build output of a workspace was made: what is asked before a protected branch takes over
//! any of it, and before a secret is given to what runs beside it.
//!
//! The record is changed before the deed, so a crash leaves it too careful, never too trusting.

use serde::{Deserialize, Serialize};

use crate::Error;
use branchyard_git::{ObjectId, Repository, is_ancestor, object_id};
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
    pub(crate) fn is_in(&self, store: &Repository, tip: ObjectId) -> Result<bool, Error> {
        let Self::Commits(commits) = self else {
            return Ok(false);
        };
        for commit in commits {
            if !is_ancestor(store, object_id(commit)?, tip)? {
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
        let new = object_id(commit)?;
        for known in commits.drain(..) {
            if !is_ancestor(store, object_id(&known)?, new)? {
                kept.push(known);
            }
        }
        Ok(match kept.len() > MANY {
            true => Self::Unknown,
            false => Self::Commits(kept),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    use super::*;

    fn git(store: &Path, args: &[&str]) -> String {
        let who = ["-c", "user.name=Test", "-c", "user.email=test@localhost"];
        let said = Command::new("git")
            .arg("-C")
            .arg(store)
            .args(who)
            .args(args)
            .output()
            .unwrap();
        assert!(said.status.success(), "{said:?}");
        String::from_utf8(said.stdout).unwrap().trim().to_owned()
    }

    fn commit(store: &Path, name: &str, parents: &[ObjectId]) -> ObjectId {
        let tree = git(store, &["hash-object", "-t", "tree", "-w", "/dev/null"]);
        let parents = parents
            .iter()
            .flat_map(|id| ["-p".to_owned(), id.to_string()]);
        let mut args = vec!["commit-tree".to_owned(), tree];
        args.extend(parents);
        args.extend(["-m".to_owned(), name.to_owned()]);
        let args: Vec<_> = args.iter().map(String::as_str).collect();
        ObjectId::parse(&git(store, &args)).unwrap()
    }

    #[test]
    fn a_history_is_kept_by_its_newest_commit_and_others_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        git(dir.path(), &["init", "-q", "--bare"]);
        let store = branchyard_git::open_store(dir.path()).unwrap();
        let commit = |name: &str, parents: &[ObjectId]| commit(dir.path(), name, parents);
        let id = |id: ObjectId| CommitId::parse(&id.to_string()).unwrap();
        let first = commit("first", &[]);
        let second = commit("second", &[first]);
        let topic = commit("topic", &[first]);

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
        let merged = commit("merged", &[second, topic]);
        assert!(both.is_in(&store, merged).unwrap());
        assert!(!BuiltFrom::Unknown.is_in(&store, merged).unwrap());

        for n in 0..MANY {
            let apart = commit(&format!("apart {n}"), &[]);
            built = built.with(&store, &id(apart)).unwrap();
        }
        assert_eq!(built, BuiltFrom::Unknown);
    }
}
