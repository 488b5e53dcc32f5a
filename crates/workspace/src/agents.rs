//! Which task of which agent a branch was made for: a small file for each, which outlives the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Error;
use branchyard_model::{AgentTask, BranchName, CommitId, RepoName};
use branchyard_runtime::disk::if_there;

const VERSION: u32 = 1;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AgentBranch {
    version: u32,
    pub branch: BranchName,
    #[serde(flatten)]
    pub task: AgentTask,
    /// The branch or commit that it was made from.
    pub base: String,
    /// Where it began: a branch that is still there has nothing that could have been merged.
    pub start: CommitId,
    pub at: Timestamp,
}

impl AgentBranch {
    pub fn new(branch: BranchName, task: AgentTask, base: String, start: CommitId) -> Self {
        Self {
            version: VERSION,
            branch,
            task,
            base,
            start,
            at: Timestamp::now(),
        }
    }
}

/// The notes on all of them.
#[derive(Debug)]
pub struct AgentBranches(PathBuf);

impl AgentBranches {
    pub(super) fn at(dir: PathBuf) -> Self {
        Self(dir)
    }

    /// Whose task this branch was made for, as far as that is known.
    pub fn of(&self, repo: &RepoName, branch: &BranchName) -> Result<Option<AgentBranch>, Error> {
        read(&self.file(repo, branch))
    }

    /// The branches of this repo that were made for agents.
    pub fn all(&self, repo: &RepoName) -> Result<Vec<AgentBranch>, Error> {
        let unlisted = || Error::io("list the branches of agents");
        let entries = if_there(fs::read_dir(self.dir(repo))).map_err(unlisted())?;
        let mut found = Vec::new();
        for entry in entries.into_iter().flatten() {
            let path = entry.map_err(unlisted())?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                found.extend(read(&path)?);
            }
        }
        Ok(found)
    }

    /// Notes whose a branch is. Written by rename, so that a reader sees all of it or nothing.
    pub fn keep(&self, repo: &RepoName, branch: &AgentBranch) -> Result<(), Error> {
        let file = self.file(repo, &branch.branch);
        let fresh = file.with_extension("new");
        fs::create_dir_all(self.dir(repo))
            .and_then(|()| Ok(serde_json::to_vec_pretty(branch)?))
            .and_then(|json| fs::write(&fresh, json))
            .and_then(|()| fs::rename(&fresh, &file))
            .map_err(Error::io("note whose branch it is"))
    }

    pub fn forget(&self, repo: &RepoName, branch: &BranchName) -> Result<(), Error> {
        if_there(fs::remove_file(self.file(repo, branch)))
            .map(drop)
            .map_err(Error::io("forget whose branch it was"))
    }

    fn dir(&self, repo: &RepoName) -> PathBuf {
        self.0.join(repo.dir().as_str())
    }

    fn file(&self, repo: &RepoName, branch: &BranchName) -> PathBuf {
        self.dir(repo).join(format!("{}.json", branch.dir()))
    }
}

fn read(file: &Path) -> Result<Option<AgentBranch>, Error> {
    let json = if_there(fs::read(file)).map_err(Error::io("read whose branch it is"))?;
    let Some(json) = json else {
        return Ok(None);
    };
    match serde_json::from_slice::<AgentBranch>(&json) {
        Ok(branch) if branch.version == VERSION => Ok(Some(branch)),
        Ok(_) => Ok(None),
        Err(error) => {
            tracing::warn!(file = %file.display(), %error, "whose branch it is cannot be read");
            Ok(None)
        }
    }
}
