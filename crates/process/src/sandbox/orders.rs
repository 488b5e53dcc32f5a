//! What the supervisor outside and the init inside tell each other, and by which descriptors.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::cgroup::Inheritable;
use crate::{CommandError, Outcome};

/// The numbers by which init finds what it inherits. bwrap closes all of them in the process of its own
/// that stays outside, so that none is held open by it.
pub(super) mod descriptor {
    /// bwrap's own options: they would be too long a command line for every list of processes.
    pub(crate) const OPTIONS: i32 = 4;
    /// This very program. Nothing of it is in the sandbox, and it may be gone from the disk by now.
    pub(crate) const PROGRAM: i32 = 5;
    pub(crate) const ORDERS: i32 = 6;
    pub(crate) const REPORT: i32 = 7;
    /// A byte means TERM to all; its end means that the supervisor is gone.
    pub(crate) const CONTROL: i32 = 8;
    pub(crate) const STDOUT: i32 = 9;
    pub(crate) const STDERR: i32 = 10;
    pub(crate) const STDIN: i32 = 11;
}

/// What init is to do. It may hold secrets, hence no `Debug`.
#[derive(Serialize, Deserialize)]
pub(super) struct Orders {
    /// Empty for a trial: then it restricts itself and tells by what.
    pub argv: Vec<String>,
    /// Whether the command is given something to read.
    pub has_stdin: bool,
    /// Whether it is to offer a way out: its own standard input leads to the supervisor then.
    pub offers_proxy: bool,
    pub cwd: PathBuf,
    pub env: Vec<(String, String)>,
    /// Taken on inside: with them bwrap, or init itself, might not start.
    pub limits: Inheritable,
    /// Where files may be changed, as landlock is told.
    pub writable: Vec<PathBuf>,
}

/// What init tells, a line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Report {
    Started,
    NotStarted(CommandError),
    Ended {
        outcome: Outcome,
        /// It left nobody behind, so init goes as well.
        alone: bool,
    },
}

/// What a trial found in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tried {
    /// The version; `None` where the kernel has none that helps.
    pub landlock: Option<u32>,
}
