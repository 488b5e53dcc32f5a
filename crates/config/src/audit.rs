//! `[audit]`: how long it is remembered who did what.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::count::many;
use super::duration::positive;

/// How long it is remembered who did what. The oldest records go first, whichever bound is reached.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [audit]")]
pub struct AuditConfig {
    /// How long a record is kept.
    #[serde(deserialize_with = "positive")]
    pub keep: Duration,
    /// How many records are kept; refusals take half of the number at most.
    #[serde(deserialize_with = "many")]
    pub max_records: usize,
}

impl Default for AuditConfig {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(365 * 24 * 60 * 60),
            max_records: 1_000_000,
        }
    }
}
