//! What a run's arguments leave to be seen to once its workspace is ready.

use serde::{Deserialize, Serialize};

/// What is left to see to when the command starts.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Checks {
    /// Paths in the arguments that must not lead out of the workspace.
    pub(super) beneath: Vec<String>,
    /// It talks to the remote, and looks at no file of the workspace.
    pub(super) network: bool,
    /// What the remote has of the branch is to be brought here first.
    pub(super) brings: bool,
    /// It changes what the remote has of the branch.
    pub(super) pushes: bool,
    /// It changes nothing.
    pub(super) reads: bool,
    /// It is refused on a protected branch, which may be known to be one only once the repo is cloned.
    pub(super) guards_branch: bool,
    /// Words of the command line whose number of jobs depends on who else is at work.
    pub(super) open_jobs: Vec<usize>,
    /// The word of the command line that stands for a script of the caller's.
    pub(super) script_at: Option<usize>,
    /// The code environment that is asked for.
    pub(super) code_env: Option<String>,
}
