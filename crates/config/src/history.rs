//! `[history]`: how long runs are remembered.

use std::time::Duration;

use serde::Deserialize;

use super::ByteSize;
use super::count::many;
use super::duration::positive;

/// What is kept of runs that have ended: the oldest go first, whichever bound is reached. What is
/// running stays, and so does a run that may still be asked for again under its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section [history]")]
pub struct HistoryConfig {
    /// How long a run is kept. Default `30d`.
    #[serde(deserialize_with = "positive")]
    pub keep: Duration,
    /// How many runs are kept. Default 100000.
    #[serde(deserialize_with = "many")]
    pub max_runs: usize,
    /// How much their journals may take together. Default `20GiB`.
    pub max_bytes: ByteSize,
}

impl Default for HistoryConfig {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(30 * 24 * 60 * 60),
            max_runs: 100_000,
            max_bytes: ByteSize::gib(20),
        }
    }
}
