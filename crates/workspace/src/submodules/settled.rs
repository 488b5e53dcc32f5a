//! What is on record of the submodules of a workspace once they follow a commit.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::{Error, Workspace};
use branchyard_git::{read_plain, write_whole};
use branchyard_model::CommitId;
use branchyard_runtime::disk::if_there;

const FILE: &str = "branchyard.submodules";
const MAX_SIZE: u64 = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Settled {
    pub(crate) commit: CommitId,
    /// The settings that said which of them are filled.
    pub(crate) decided_by: String,
    /// Those that are left empty, and why.
    pub(crate) left_empty: Vec<(PathBuf, String)>,
}

impl Settled {
    pub(crate) fn load(workspace: &Workspace) -> Option<Self> {
        let json = read_plain(&file(workspace), MAX_SIZE).ok()??;
        serde_json::from_slice(&json).ok()
    }

    pub(crate) fn save(&self, workspace: &Workspace) -> Result<(), Error> {
        let failed = || Error::io("record the submodules of a workspace");
        let json = serde_json::to_vec(self).map_err(|error| failed()(error.into()))?;
        write_whole(&file(workspace), &json).map_err(failed())
    }
}

/// Has them be looked at again before they count as following.
pub(crate) fn forget(workspace: &Workspace) -> Result<(), Error> {
    let gone = if_there(fs::remove_file(file(workspace)));
    gone.map(drop)
        .map_err(Error::io("forget the submodules of a workspace"))
}

fn file(workspace: &Workspace) -> PathBuf {
    workspace.worktree().admin().join(FILE)
}

/// Why the submodule at `path` has no files, where that was decided.
pub(crate) fn left_empty(workspace: &Workspace, path: &Path) -> Option<String> {
    let settled = Settled::load(workspace)?;
    let mut left = settled.left_empty.into_iter();
    left.find_map(|(left, why)| (left == path).then_some(why))
}
