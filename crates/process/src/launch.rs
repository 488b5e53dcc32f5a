//! What a daemon tells the supervisor of a run: all of it, once, before anything starts.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Handover, Limits, Mechanisms, Sandbox};
use branchyard_model::RunId;

/// One command, how long and how much it may. It may hold secrets, hence no `Debug`.
#[derive(Clone, Serialize, Deserialize)]
pub struct Launch {
    pub run: RunId,
    /// The run's directory: its journal and, at the end, its exit record.
    pub home: PathBuf,
    pub argv: Vec<String>,
    /// What it reads from its standard input; nothing, where there is none.
    pub stdin: Option<PathBuf>,
    pub cwd: PathBuf,
    /// The whole environment but for the run's id; nothing is inherited.
    pub env: Vec<(String, String)>,
    pub timeout: Duration,
    /// From TERM to KILL.
    pub grace: Duration,
    /// How long output may follow the command's own end.
    pub drain: Duration,
    /// What is kept of its output, in bytes: head and tail.
    pub max_output: u64,
    pub limits: Limits,
    pub mechanisms: Mechanisms,
    /// What it is given to show to a remote, if it talks to one.
    pub handover: Option<Handover>,
    /// What it is kept from; without one it may do what this user may.
    pub sandbox: Option<Sandbox>,
    /// What must not be seen in its output.
    pub secrets: Vec<String>,
    /// Where values are kept that it masks itself, if it may; see [`kept_masks`](super::kept_masks).
    #[serde(default)]
    pub masks: Option<PathBuf>,
}
