//! What a build complained about, pulled out of its output.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Error,
    Warning,
}

/// One complaint, and where in the log it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnostic {
    /// Relative to the workspace where that can be told, else as the tool wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    pub severity: Severity,
    /// Cut after 1,000 characters. A failed test's begins with the test's name.
    pub message: String,
    /// `gcc` (clang writes the same), `rustc`, `python`, `pytest`, `make` or `generic`.
    pub tool: String,
    /// The line of the log that it was found on, counted from 1.
    pub log_line: u64,
}

/// How many different ones there were, kept or not, and the first that matters: an error, or a warning
/// where there is no error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosticsSummary {
    pub errors: usize,
    pub warnings: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Diagnostic>,
}
