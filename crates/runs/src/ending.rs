//! The ways in which a run can end.

use branchyard_model::{Problem, RunId, RunRecord};
use branchyard_process::{Exit, Stop};

pub(super) enum Ending {
    Exited(Exit),
    /// Refused or failed before its command ran.
    Refused(Problem),
    CancelledBeforeStart,
    /// Answered by an earlier run, whose output it has by now.
    Reused(RunId),
    /// The set-up of its workspace failed, with this end; it has the output of that by now.
    NotSetUp(Box<RunRecord>),
    /// Its supervisor is gone and left no word.
    Lost,
    /// The supervisor neither stopped the command when it was to, nor answered; it was killed.
    GivenUp(Stop),
    /// The yard is a copy of the one that it is a run of.
    Copied,
}
