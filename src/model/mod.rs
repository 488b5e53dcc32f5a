//! The words of the yard, as types that cannot be wrong: names parsed once at the edge, runs and
//! their events, and the problems that a caller can be told about. No I/O happens here.

mod event;
mod id;
mod names;
mod problem;
mod run;

pub use event::{About, Complete, Event, Holder, Phase, Status, Warning};
pub use id::{CommitId, RunId};
pub use names::{BranchName, DirName, RepoName};
pub use problem::{ErrorKind, Problem};
pub use run::{EndState, OnDisconnect, RunKind, RunRecord, RunSpec, RunState, SyncMode};
