//! Branchyard's own keys of a job, as the plan has them.

use serde::{Deserialize, Serialize};

/// What only Branchyard knows of a job.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobExtras {
    /// What can change its result, as globs; without it the whole tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryRule>,
    /// Globs of test reports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<String>,
    /// For how long a failed job's worktree stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold_seconds: Option<u64>,
    /// Whether build output of an earlier job stays.
    #[serde(default)]
    pub warm: bool,
    /// `tree`, `inputs` or `off`; without it as the repo has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reuse: Option<String>,
}

/// When a job is tried again by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryRule {
    pub max: u8,
    /// `flaky` and `lost`.
    pub on: Vec<String>,
}
