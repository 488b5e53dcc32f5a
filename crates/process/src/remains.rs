//! What is left of a run whose supervisor is gone: its processes are nobody's children any more, but
//! they still carry its id in their environment, and are found by that.

use std::fs;

use rustix::process::{Pid, Signal};

use super::descendants;
use branchyard_model::RunId;

/// The variable that every process of a run inherits.
pub(super) const RUN_ID_VARIABLE: &str = "BRANCHYARD_RUN_ID";
/// Each round ends the processes that the round before could have forked; a fork bomb is met with
/// as many rounds, not with a promise.
const ROUNDS: usize = 64;

/// Kills every process that carries the run's id. Returns how many were met.
pub fn end_processes_of(run: RunId) -> usize {
    let (mark, mut ended) = (format!("{RUN_ID_VARIABLE}={run}"), 0);
    let carries = |pid| carries(pid, mark.as_bytes());
    let kill = |pid| carries(pid) && descendants::send_if(pid, Signal::KILL, || carries(pid));
    for _ in 0..ROUNDS {
        let met = descendants::pids().filter(|pid| kill(*pid)).count();
        if met == 0 {
            break;
        }
        ended += met;
    }
    ended
}

fn carries(pid: Pid, mark: &[u8]) -> bool {
    // A zombie's environment reads as empty, so the dead are never counted.
    fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()))
        .is_ok_and(|environ| environ.split(|b| *b == 0).any(|entry| entry == mark))
}
