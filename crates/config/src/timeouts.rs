//! `[timeouts]`: how long.

use std::time::Duration;

use serde::Deserialize;

use super::duration::positive;
use super::fault::Fault;
use super::value;

/// How long the daemon waits for what.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section [timeouts]")]
pub struct Timeouts {
    /// A run whose caller names no timeout. Default `1h`.
    #[serde(deserialize_with = "positive")]
    pub run: Duration,
    /// The longest timeout that a caller may name. Default `6h`.
    #[serde(deserialize_with = "positive")]
    pub run_max: Duration,
    /// Asking a remote for its refs. Default `30s`.
    #[serde(deserialize_with = "positive")]
    pub remote: Duration,
    /// A clone or fetch that makes no progress. Default `60s`.
    #[serde(deserialize_with = "positive")]
    pub fetch_stall: Duration,
    /// A clone or fetch, from start to end. Default `2h`.
    #[serde(deserialize_with = "positive")]
    pub fetch: Duration,
    /// Between TERM and KILL. Default `10s`.
    #[serde(deserialize_with = "value::text")]
    pub grace: Duration,
    /// For output that still comes after the command's end. Default `2s`.
    #[serde(deserialize_with = "value::text")]
    pub drain: Duration,
    /// For a caller who went away to come back, before that counts. Default `10s`.
    #[serde(deserialize_with = "value::text")]
    pub disconnect: Duration,
    /// For running builds to end when the daemon is told to stop. Default `30s`.
    #[serde(deserialize_with = "value::text")]
    pub shutdown: Duration,
    /// For the head of a connection's next request, and then for its body. Default `60s`.
    #[serde(deserialize_with = "positive")]
    pub request: Duration,
    /// For a peer to take at least some of an answer that it is being sent. Default `5m`.
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
            grace: seconds(10),
            drain: seconds(2),
            disconnect: seconds(10),
            shutdown: seconds(30),
            request: seconds(60),
            write_stall: seconds(5 * 60),
        }
    }
}
