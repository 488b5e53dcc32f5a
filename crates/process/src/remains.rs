//! What is left of a run whose supervisor is gone: its processes are nobody's children any more, but
//! they still carry its id in their environment, and are found by that.

use std::fs;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::descendants;
use branchyard_model::RunId;

/// The variable that every process of a run inherits.
pub(super) const RUN_ID_VARIABLE: &str = "BRANCHYARD_RUN_ID";
/// Each round ends the processes that the round before could have forked; a fork bomb is met with
/// as many rounds, not with a promise.
const ROUNDS: usize = 64;

/// Kills every process that carries the run's id. Returns how many were met.
pub fn end_processes_of(run: RunId) -> usize {
    let (mark, mut ended) = (mark(run), 0);
    for _ in 0..ROUNDS {
        let met = descendants::pids()
            .filter(|pid| carries(*pid, &mark) && send(*pid, &mark, Signal::KILL))
            .count();
        if met == 0 {
            break;
        }
        ended += met;
    }
    ended
}

fn mark(run: RunId) -> Vec<u8> {
    format!("{RUN_ID_VARIABLE}={run}").into_bytes()
}

fn carries(pid: Pid, mark: &[u8]) -> bool {
    // A zombie's environment reads as empty, so the dead are never counted.
    fs::read(format!("/proc/{}/environ", pid.as_raw_nonzero()))
        .is_ok_and(|environ| environ.split(|b| *b == 0).any(|entry| entry == mark))
}

/// Checks once more behind a pidfd, so that a number reused in between is never hit.
fn send(pid: Pid, mark: &[u8], signal: Signal) -> bool {
    pidfd_open(pid, PidfdFlags::empty())
        .is_ok_and(|fd| carries(pid, mark) && pidfd_send_signal(&fd, signal).is_ok())
}
