//! How much work one look may be.

use std::time::{Duration, Instant};

use crate::Error;
use branchyard_model::{ErrorKind, Problem};
use branchyard_process::CaptureError;

/// More commits than that are not gone through for one answer.
pub(super) const MOST_COMMITS: usize = 500_000;
/// Nor for longer than that: whoever waits has better things to do.
const LONGEST: Duration = Duration::from_secs(10);

/// What is left of a look's time and steps.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    steps: usize,
    until: Instant,
}

impl Budget {
    pub fn of_a_look() -> Self {
        Self::new(MOST_COMMITS, LONGEST)
    }

    pub fn new(steps: usize, time: Duration) -> Self {
        Self {
            steps,
            until: Instant::now() + time,
        }
    }

    /// Takes a step; whether there was none left.
    pub fn is_spent(&mut self) -> bool {
        match self.steps.checked_sub(1) {
            Some(left) => self.steps = left,
            None => return true,
        }
        // The clock is not for every step.
        self.steps.is_multiple_of(64) && Instant::now() >= self.until
    }
}

/// A command that took too long asked too much, which is no defect; `help` says how to ask for less.
pub(super) fn told(error: Error, help: &str) -> Error {
    match error {
        Error::Command(CaptureError::TimedOut { .. }) => {
            Problem::new(ErrorKind::Unavailable, "took_too_long", error.to_string())
                .help(help)
                .into()
        }
        other => other,
    }
}
