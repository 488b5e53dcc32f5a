//! Runs in words.

use crate::mcp::fit;
use branchyard_model::{EndState, RunRecord, RunState};

/// Of longer ones this much is shown.
const LONGEST_COMMAND: usize = 500;
const LONGEST_REASON: usize = 800;

/// Whether it came to an end that says that something is wrong with what was built.
pub(super) fn is_failure(run: &RunRecord) -> bool {
    match run.state {
        RunState::Ended(EndState::Succeeded | EndState::Cancelled) => false,
        RunState::Ended(_) => true,
        RunState::Queued | RunState::Preparing | RunState::Running => false,
    }
}

/// The command, and where it ran.
pub(super) fn subject(run: &RunRecord) -> String {
    let command = run.spec.argv.join(" ");
    let command = fit::head(&command, LONGEST_COMMAND);
    format!("`{command}` on {}/{}", run.spec.repo, run.spec.branch)
}

/// How it ended, or how far it is.
pub(super) fn verdict(run: &RunRecord) -> String {
    let mut verdict = match (run.state, run.exit_code, run.signal) {
        (RunState::Ended(EndState::Succeeded), ..) => "succeeded".to_owned(),
        (RunState::Ended(EndState::Failed), Some(code), _) => {
            format!("failed with exit code {code}")
        }
        (RunState::Ended(EndState::Signalled), _, Some(signal)) => {
            format!("was ended by signal {signal}")
        }
        (RunState::Ended(EndState::Failed | EndState::Signalled), ..) => "failed".to_owned(),
        (RunState::Ended(EndState::TimedOut), ..) => "took too long and was ended".to_owned(),
        (RunState::Ended(EndState::Cancelled), ..) => "was cancelled".to_owned(),
        (RunState::Ended(EndState::Lost), ..) => "was lost: nobody knows how it ended".to_owned(),
        (RunState::Ended(EndState::Rejected), ..) => "was rejected before it started".to_owned(),
        (RunState::Queued | RunState::Preparing | RunState::Running, ..) => {
            format!("has not ended ({})", run.state.as_str())
        }
    };
    let error = run.error.as_ref().map(|error| &error.detail);
    if let Some(why) = error.or(run.reason.as_ref()) {
        verdict.push_str(&format!(" ({})", fit::head(why, LONGEST_REASON)));
    }
    verdict
}

/// The commit that it was about.
pub(super) fn commit(run: &RunRecord) -> String {
    match &run.about {
        None => "before any commit was checked out".to_owned(),
        Some(about) if about.dirty == Some(true) => {
            format!("at commit {}, with changes to tracked files", about.commit)
        }
        Some(about) => format!("at commit {}", about.commit),
    }
}
