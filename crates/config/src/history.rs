//! `[history]`: how long runs are remembered.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::ByteSize;
use super::count::many;
use super::duration::positive;

/// What is kept of runs that have ended. The oldest go first, whichever bound is reached. A run that is under way stays,
/// and so does one that may still be asked for again under its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [history]")]
pub struct HistoryConfig {
    /// How long a run is kept.
    #[serde(deserialize_with = "positive")]
    pub keep: Duration,
    /// How many runs are kept.
    #[serde(deserialize_with = "many")]
    pub max_runs: usize,
    /// How much their journals may take together.
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
