//! What a request for a pipeline would start, told without starting it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AnsweredBy, CommitId, Warning};

/// What a request for a pipeline would start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PipelineCheck {
    /// Whether there would be a pipeline: nothing is wrong with the file.
    pub valid: bool,
    /// All that is wrong with it, in order of its lines.
    #[serde(default)]
    pub problems: Vec<WorkflowProblem>,
    /// The path of the workflow file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<CommitId>,
    #[serde(default)]
    pub jobs: Vec<CheckedJob>,
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

/// What is wrong with a workflow file, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkflowProblem {
    pub code: String,
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    pub message: String,
}

/// What would become of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedJob {
    /// As in the record of a pipeline.
    pub job: String,
    pub name: String,
    #[serde(default)]
    pub needs: Vec<String>,
    pub would: JobForecast,
    /// The job that would answer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<AnsweredBy>,
    /// Why, where that is not plain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The names of its steps.
    #[serde(default)]
    pub steps: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobForecast {
    /// Its steps would be run.
    Run,
    /// An earlier job would answer it.
    Reuse,
    Skip,
    /// It cannot be run here.
    Reject,
    /// It needs jobs that would be run, and follows from what they do.
    Follow,
}

impl JobForecast {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Reuse => "reuse",
            Self::Skip => "skip",
            Self::Reject => "reject",
            Self::Follow => "follow",
        }
    }
}
