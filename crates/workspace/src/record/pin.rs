//! A workspace that somebody wants kept.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who wants a workspace kept, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pin {
    pub by: String,
    pub reason: Option<String>,
    pub at: Timestamp,
}

impl Pin {
    /// As a reason to stay.
    pub fn says(&self) -> String {
        match &self.reason {
            Some(reason) => format!("pinned by {}: {reason}", self.by),
            None => format!("pinned by {}", self.by),
        }
    }
}
