//! How a command ends: the exit codes, and the [`Failure`] that carries one to the top.
//!
//! A run's own exit code is passed on, so ours keep to the places that shells and `timeout` use.

use std::fmt;
use std::io;

use reqwest::StatusCode;

use branchyard_model::EndState;

pub(super) const OK: u8 = 0;
pub(super) const LOCAL: u8 = 1;
pub(super) const USAGE: u8 = 2;
pub(super) const TIMED_OUT: u8 = 124;
pub(super) const DAEMON: u8 = 125;
pub(super) const CANCELLED: u8 = 130;
pub(super) const BROKEN_PIPE: u8 = 141;
/// A command that was ended by a signal: this and the signal's number, as in shells.
const SIGNALLED: u8 = 128;

/// The exit code for a run's end.
pub(super) fn of_run(state: EndState, exit_code: Option<i32>, signal: Option<i32>) -> u8 {
    match state {
        EndState::Succeeded => OK,
        // Failed is failed, also where the code is missing or is one that no shell could pass on.
        EndState::Failed => match exit_code.map(u8::try_from) {
            Some(Ok(code)) if code != 0 => code,
            _ => LOCAL,
        },
        EndState::Signalled => signal
            .and_then(|signal| u8::try_from(signal).ok())
            .and_then(|signal| signal.checked_add(SIGNALLED))
            .unwrap_or(DAEMON),
        EndState::TimedOut => TIMED_OUT,
        EndState::Cancelled => CANCELLED,
        EndState::Lost | EndState::Rejected => DAEMON,
    }
}

/// The exit code for a refusal by the daemon.
pub(super) fn of_status(status: StatusCode) -> u8 {
    match status {
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => USAGE,
        _ => DAEMON,
    }
}

/// Why a command could not do what it was asked, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub exit: u8,
    /// A sentence for people; empty where there is nothing to say to anybody.
    pub detail: String,
    pub help: Option<String>,
}

impl Failure {
    pub(super) fn usage(detail: impl Into<String>) -> Self {
        Self::new(USAGE, detail)
    }

    /// The daemon refused, misbehaved or is not there.
    pub(super) fn daemon(detail: impl Into<String>) -> Self {
        Self::new(DAEMON, detail)
    }

    /// Something on this side went wrong.
    pub(super) fn local(detail: impl Into<String>) -> Self {
        Self::new(LOCAL, detail)
    }

    /// A write to our stdout or stderr that failed. A reader that went away has seen enough.
    pub(super) fn writing(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::new(BROKEN_PIPE, "")
        } else {
            Self::daemon(format!("cannot write the output: {error}"))
        }
    }

    #[must_use]
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    fn new(exit: u8, detail: impl Into<String>) -> Self {
        Self {
            exit,
            detail: detail.into(),
            help: None,
        }
    }
}

/// What went wrong and what to do about it, in one sentence.
pub(super) fn with_help(detail: String, help: Option<&String>) -> String {
    match help {
        Some(help) => format!("{detail}; {help}"),
        None => detail,
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

/// The daemon's own start-up reports with anyhow; its causes are part of the sentence.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::local(format!("{error:#}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use branchyard_reference::{Table, check, heading};

    #[test]
    fn a_run_ends_us_the_way_it_ended() {
        for (state, exit_code, signal, code) in [
            ("succeeded", Some(0), None, 0),
            ("failed", Some(2), None, 2),
            ("failed", Some(255), None, 255),
            ("failed", Some(256), None, 1),
            ("failed", None, None, 1),
            ("failed", Some(0), None, 1),
            ("signalled", None, Some(9), 137),
            ("signalled", None, Some(15), 143),
            ("signalled", None, None, 125),
            ("timed_out", None, Some(15), 124),
            ("cancelled", None, Some(15), 130),
            ("lost", None, None, 125),
            ("rejected", None, None, 125),
        ] {
            let ended = serde_json::from_value(state.into()).unwrap();
            assert_eq!(of_run(ended, exit_code, signal), code, "{state}");
        }
    }

    #[test]
    fn exit_codes_have_a_reference_page() {
        let own = "`make`, `git`, `task`, `rerun` and `follow`: it ran and ended by itself; of several branches, the \
                   first that failed; `pipeline run`, `retry` and `follow`: the first step that failed";
        let code = |code: u8| code.to_string();
        let mut table = Table::new(&["code", "of `branchyard`"]);
        for (code, meaning) in [
            ("the command's own".to_owned(), own),
            (code(OK), "done"),
            (
                code(LOCAL),
                "anything else, such as a check of `doctor` or `check-config` that failed",
            ),
            (
                code(USAGE),
                "the command line, or a name or value in it, is wrong",
            ),
            (
                code(TIMED_OUT),
                "the run, or a job of the pipeline, timed out",
            ),
            (
                code(DAEMON),
                "the daemon refused, failed or is not there; the run or pipeline was rejected or lost",
            ),
            (
                format!("{SIGNALLED} + n"),
                "the command was ended by signal n",
            ),
            (code(CANCELLED), "cancelled, by Ctrl-C or by another caller"),
            (
                code(BROKEN_PIPE),
                "broken pipe: the reader of the output closed it",
            ),
        ] {
            table.row(&[&code, meaning]);
        }
        let page = format!("{}{table}", heading("Exit codes"));
        check("docs/reference/exit-codes.md", &page);
    }

    #[test]
    fn only_what_the_caller_can_spell_better_is_a_usage_error() {
        for (status, code) in [
            (StatusCode::BAD_REQUEST, 2),
            (StatusCode::UNPROCESSABLE_ENTITY, 2),
            (StatusCode::UNAUTHORIZED, 125),
            (StatusCode::NOT_FOUND, 125),
            (StatusCode::CONFLICT, 125),
            (StatusCode::SERVICE_UNAVAILABLE, 125),
        ] {
            assert_eq!(of_status(status), code, "{status}");
        }
    }

    #[test]
    fn a_reader_that_went_away_is_not_told_about_it() {
        let failure = Failure::writing(&io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!((failure.exit, failure.detail.as_str()), (BROKEN_PIPE, ""));
        let failure = Failure::writing(&io::Error::from(io::ErrorKind::StorageFull));
        assert!(failure.detail.contains("cannot write"));
    }
}
