//! `[timeouts]`: how long.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::config_file::Fault;
use super::duration::positive;
use super::value;

/// How long the daemon waits for what.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [timeouts]")]
pub struct Timeouts {
    /// A run whose caller names no timeout.
    #[serde(deserialize_with = "positive")]
    pub run: Duration,
    /// The longest timeout that a caller may name.
    #[serde(deserialize_with = "positive")]
    pub run_max: Duration,
    /// Asking a remote for its refs.
    #[serde(deserialize_with = "positive")]
    pub remote: Duration,
    /// A clone, fetch or push that makes no progress.
    #[serde(deserialize_with = "positive")]
    pub fetch_stall: Duration,
    /// A clone, fetch or push, from start to end.
    #[serde(deserialize_with = "positive")]
    pub fetch: Duration,
    /// A git verb, for a workspace that is in use, before it is refused as busy. Keep it shorter than callers wait for an
    /// answer, so that they are told what they wait for.
    #[serde(deserialize_with = "value::text")]
    pub workspace: Duration,
    /// Between TERM and KILL.
    #[serde(deserialize_with = "value::text")]
    pub grace: Duration,
    /// For output that still comes after the command's end.
    #[serde(deserialize_with = "value::text")]
    pub drain: Duration,
    /// For a caller who went away to come back, before the run is cancelled.
    #[serde(deserialize_with = "value::text")]
    pub disconnect: Duration,
    /// For running builds to end when the daemon is told to stop; after that they go on without it.
    #[serde(deserialize_with = "value::text")]
    pub shutdown: Duration,
    /// For the head of a connection's next request to come, and then for its body.
    #[serde(deserialize_with = "positive")]
    pub request: Duration,
    /// For a peer to take at least some of an answer that it is being sent. A viewer of a silent build is sent nothing, and
    /// is not meant.
    #[serde(deserialize_with = "positive")]
    pub write_stall: Duration,
}

impl Timeouts {
    /// What no single key can get wrong.
    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.run > self.run_max {
            return Err(Fault::new(
                &["timeouts", "run"],
                format!(
                    "timeouts.run ({}) is longer than timeouts.run_max ({}); expected at most run_max",
                    humantime::format_duration(self.run),
                    humantime::format_duration(self.run_max)
                ),
            )
            .or_at(&["timeouts", "run_max"]));
        }
        Ok(())
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            run: seconds(60 * 60),
            run_max: seconds(6 * 60 * 60),
            remote: seconds(30),
            fetch_stall: seconds(60),
            fetch: seconds(2 * 60 * 60),
            workspace: seconds(40),
            grace: seconds(10),
            drain: seconds(2),
            disconnect: seconds(10),
            shutdown: seconds(30),
            request: seconds(60),
            write_stall: seconds(5 * 60),
        }
    }
}
