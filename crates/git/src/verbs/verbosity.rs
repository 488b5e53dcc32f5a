//! How much an answer tells.

use schemars::JsonSchema;
use serde::Deserialize;

/// How much an answer tells: whole fields are left out or added, and no list is cut by it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verbosity {
    /// What one must know to go on.
    Minimal,
    #[default]
    Standard,
    /// Everything that is known.
    Full,
}
