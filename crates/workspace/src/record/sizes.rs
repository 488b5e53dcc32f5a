//! How much of the disk a workspace takes.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    pub source: u64,
    pub build_output: u64,
    /// What of the build output git ignores: all that may be dropped without the workspace.
    pub droppable: u64,
    pub measured_at: Timestamp,
}

impl Sizes {
    pub fn total(&self) -> u64 {
        self.source + self.build_output
    }
}
