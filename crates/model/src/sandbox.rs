//! What a build is kept from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How much of the machine a build is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SandboxProfile {
    /// All that the daemon's user may see and change.
    None,
    /// Its own worktree to change, the system and the repo's history to read, and the network.
    Standard,
    /// As `standard`, but no network, no terminals, and of `/etc` only what programs need to start.
    Strict,
}

impl SandboxProfile {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Standard => "standard",
            Self::Strict => "strict",
        }
    }
}
