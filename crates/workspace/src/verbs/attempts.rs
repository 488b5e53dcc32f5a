//! Trying again what the remote refused or did not answer, because others push there too.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};

use crate::{Error, Workspace};
use branchyard_git::RemoteFailure;
use branchyard_model::{BranchName, ErrorKind, Problem};

const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(5);

/// Why an attempt failed.
pub(super) enum Failed {
    /// The remote does not have it, for this reason, which may be another next time.
    Rejected(String),
    /// Worth another attempt only where the remote failed in a way that passes.
    Error(Error),
}

impl<E: Into<Error>> From<E> for Failed {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// The attempts to have the remote take a branch.
pub(super) struct Attempts {
    /// The field that names the branch.
    field: &'static str,
    delays: ExponentialBackoff,
    failures: Vec<String>,
}

impl Attempts {
    /// One, and then as many `retries`.
    pub(super) fn new(field: &'static str, retries: u32) -> Self {
        let delays = ExponentialBuilder::default()
            .with_min_delay(FIRST_DELAY)
            .with_max_delay(LONGEST_DELAY)
            .with_max_times(retries as usize)
            .with_jitter();
        Self {
            field,
            delays: delays.build(),
            failures: Vec::new(),
        }
    }

    /// How many there were, the one under way included.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.failures.len())
            .unwrap_or(u32::MAX)
            .saturating_add(1)
    }

    /// Why those before the last failed.
    pub(super) fn into_failures(self) -> Vec<String> {
        self.failures
    }

    /// Returns when it is time for another; refuses where there were enough, or where another cannot mend it.
    pub(super) async fn wait(
        &mut self,
        workspace: &Workspace,
        branch: &BranchName,
        failed: Failed,
    ) -> Result<(), Error> {
        // What to say if there is no other attempt, where it was not a plain no, comes last.
        let (kind, why, problem) = match failed {
            Failed::Rejected(why) => (RemoteFailure::Rejected, why, None),
            Failed::Error(error) => match error.failure() {
                Some(kind) if kind.can_be_mended_by_retry() => {
                    (kind, error.to_string(), Some(error.problem()))
                }
                _ => return Err(error),
            },
        };
        tracing::info!(repo = %workspace.repo().name(), %branch, why, "a push failed");
        self.failures.push(why);
        let Some(delay) = self.delays.next() else {
            let problem = rejected(branch, &self.failures, problem);
            return Err(problem.field(self.field).into());
        };
        kind.count_retry("push");
        tokio::time::sleep(delay).await;
        Ok(())
    }
}

/// After the last attempt, of which `problem` came where the remote could not be asked.
pub(super) fn rejected(
    branch: &BranchName,
    failures: &[String],
    problem: Option<Problem>,
) -> Problem {
    let last = failures.last().map_or("", String::as_str);
    let detail = format!(
        "the remote did not take {branch} in {} attempts; at last: {last}",
        failures.len()
    );
    if let Some(problem) = problem {
        return Problem { detail, ..problem };
    }
    Problem::new(ErrorKind::Upstream, "push_rejected", detail)
        .field("branch")
        .help("what is committed is safe in the workspace; see to what the remote says, then try again")
}
