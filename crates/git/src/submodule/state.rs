//! How submodules stand to what is recorded of them, as it is told.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::look::{LookedSubmodule, look_at_submodules};
use crate::status::head_if_born;
use crate::{Error, GITLINK, ObjectId, Repository, Worktree, commit_id};
use branchyard_model::CommitId;

/// A submodule, or one in another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmoduleState {
    pub path: String,
    /// The commit that is staged or committed for it.
    pub recorded: Option<CommitId>,
    /// The commit that is checked out; left out where it has no files.
    pub present: Option<CommitId>,
    /// What somebody did in it: changes, commits or the like.
    pub work: Option<String>,
    /// How many files or directories in it are not tracked.
    pub untracked: usize,
}

impl SubmoduleState {
    /// Whether its files are those of the commit that is recorded.
    pub fn is_as_recorded(&self) -> bool {
        self.work.is_none() && self.untracked == 0 && self.present == self.recorded
    }

    fn of(looked: &LookedSubmodule, workspace: &Worktree) -> Result<Self, Error> {
        let submodule = looked.submodule();
        let head = head_if_born(&Repository::open_bare(submodule.worktree().admin())?)?;
        let untracked = looked.untracked().iter();
        let untracked = untracked.filter(|entry| !looked.ignores(&entry.path));
        Ok(Self {
            path: submodule.path().display().to_string(),
            recorded: submodule.recorded(workspace)?,
            present: head.map(|head| commit_id(head.commit)).transpose()?,
            work: looked.work().map(str::to_owned),
            untracked: untracked.count(),
        })
    }
}

impl fmt::Display for SubmoduleState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path)?;
        match (&self.recorded, &self.present) {
            (_, None) => write!(f, ": empty")?,
            (Some(recorded), Some(present)) if recorded == present => write!(f, ": at {present}")?,
            (Some(recorded), Some(present)) => write!(f, ": at {present}, recorded {recorded}")?,
            (None, Some(present)) => write!(f, ": at {present}, not recorded")?,
        }
        if let Some(work) = &self.work {
            write!(f, ", {work}")?;
        }
        match self.untracked {
            0 => Ok(()),
            untracked => write!(f, ", {untracked} untracked"),
        }
    }
}

/// How all submodules of a workspace stand. Blocks.
pub fn submodule_states(workspace: &Worktree) -> Result<Vec<SubmoduleState>, Error> {
    let mut states = Vec::new();
    for looked in look_at_submodules(workspace)? {
        states.push(SubmoduleState::of(&looked, workspace)?);
    }
    for (path, recorded) in recorded(workspace)? {
        if !states.iter().any(|state| state.path == path) {
            states.push(SubmoduleState {
                path,
                recorded: Some(recorded),
                present: None,
                work: None,
                untracked: 0,
            });
        }
    }
    states.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(states)
}

/// The submodules that the index of a workspace has itself.
fn recorded(workspace: &Worktree) -> Result<Vec<(String, CommitId)>, Error> {
    let index = workspace.open()?.fresh_index()?;
    let links = index.iter().filter(|entry| entry.mode == GITLINK);
    links
        .map(|entry| {
            let path = String::from_utf8_lossy(&entry.path).into_owned();
            Ok((path, commit_id(ObjectId::of(entry.id))?))
        })
        .collect()
}
