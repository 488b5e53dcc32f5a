//! What a run is asked for with, once it is known of which kind it is.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::argv::Args;
use branchyard_model::{CommitId, OnDisconnect, Problem, SyncMode};

/// A request for one run.
#[derive(Debug, Clone)]
pub struct RunRequest {
    pub command: Command,
    pub options: RunOptions,
}

/// What is to be executed. A field is there where it has a meaning.
#[derive(Debug, Clone)]
pub enum Command {
    Make {
        args: Args,
        env: BTreeMap<String, String>,
        reuse: bool,
    },
    Git {
        operation: String,
        args: Args,
    },
    Task {
        task: String,
        args: Args,
        env: BTreeMap<String, String>,
        reuse: bool,
    },
}

/// How it is to be executed, whatever it is.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    pub timeout: Option<String>,
    pub sync: SyncMode,
    pub clean: bool,
    pub cold: bool,
    pub stale: bool,
    pub coalesce: bool,
    pub supersede: bool,
    pub on_disconnect: Option<OnDisconnect>,
    /// Short for `on_disconnect: "continue"`.
    pub detach: bool,
    /// Join an equal run of one's own, if nothing was written in its workspace since it began: said beside the body, too.
    pub join_own: bool,
    /// Nobody is going to watch: said beside the body, and so no part of what was asked for.
    pub unwatched: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    #[default]
    Auto,
    None,
    Commit,
    Reset,
}

impl RunOptions {
    /// What contradicts itself is refused.
    pub(super) fn check(&self) -> Result<(), Problem> {
        if self.coalesce && self.supersede {
            return Err(Problem::unprocessable(
                "supersede",
                "`coalesce` joins an equal run and `supersede` ends it: choose one",
            ));
        }
        if self.clean && self.sync == SyncMode::None {
            return Err(Problem::unprocessable(
                "clean",
                "`clean: true` removes files and `sync: none` may touch nothing: choose one",
            ));
        }
        if self.cold && self.sync == SyncMode::None {
            return Err(Problem::unprocessable(
                "cold",
                "`cold: true` may remove files and `sync: none` may touch nothing: choose one",
            ));
        }
        if self.detach && self.on_disconnect == Some(OnDisconnect::Cancel) {
            return Err(Problem::unprocessable(
                "detach",
                "`detach: true` and `on_disconnect: cancel` contradict each other",
            ));
        }
        Ok(())
    }

    pub(super) fn timeout(&self, default: Duration, max: Duration) -> Result<Duration, Problem> {
        let Some(text) = &self.timeout else {
            return Ok(default);
        };
        let timeout = humantime::parse_duration(text).map_err(|error| {
            Problem::unprocessable("timeout", format!("{text:?} is not a duration: {error}"))
                .help("write it like \"90s\" or \"10m\"")
        })?;
        if timeout > max || timeout.is_zero() {
            let detail = format!(
                "timeout must be above zero and at most {}",
                humantime::format_duration(max)
            );
            return Err(Problem::unprocessable("timeout", detail));
        }
        Ok(timeout)
    }

    pub(super) fn on_disconnect(&self) -> OnDisconnect {
        match self.detach || self.unwatched {
            true => OnDisconnect::Continue,
            false => self.on_disconnect.unwrap_or_default(),
        }
    }
}

impl Sync {
    /// `commit` belongs to one of them, and is needed there.
    pub fn with(self, commit: Option<CommitId>) -> Result<SyncMode, Problem> {
        match (self, commit) {
            (Self::Commit, Some(commit)) => Ok(SyncMode::Commit(commit)),
            (Self::Commit, None) => Err(Problem::unprocessable(
                "commit",
                "`sync: commit` needs `commit` with 40 hex digits",
            )),
            (_, Some(_)) => Err(Problem::unprocessable(
                "commit",
                "`commit` goes with `sync: commit`",
            )),
            (Self::None, None) => Ok(SyncMode::None),
            (Self::Auto, None) => Ok(SyncMode::Auto),
            (Self::Reset, None) => Ok(SyncMode::Reset),
        }
    }

    pub(super) fn of(mode: &SyncMode) -> (Self, Option<CommitId>) {
        match mode {
            SyncMode::Auto => (Self::Auto, None),
            SyncMode::None => (Self::None, None),
            SyncMode::Reset => (Self::Reset, None),
            SyncMode::Commit(commit) => (Self::Commit, Some(commit.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_watch_does_not_cancel_by_leaving() {
        let of = |on_disconnect, detach, unwatched| {
            let options = RunOptions {
                on_disconnect,
                detach,
                unwatched,
                ..RunOptions::default()
            };
            options.on_disconnect()
        };
        let (cancel, go_on) = (OnDisconnect::Cancel, OnDisconnect::Continue);
        assert_eq!(of(None, false, false), cancel);
        assert_eq!(of(Some(go_on), false, false), go_on);
        assert_eq!(of(None, true, false), go_on);
        for given in [None, Some(cancel), Some(go_on)] {
            assert_eq!(of(given, false, true), go_on);
        }
    }
}
