//! Tests over time: what the latest results of a repository tell of each of its tests.

use std::fmt;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{BranchName, CommitId, PipelineId, RunId, TestState};

/// Where and when tests were run: by an attempt at a job, or by a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestedAt {
    pub branch: BranchName,
    /// None where the run ended before its commit was known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The files that were tested, if they were exactly those of a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<CommitId>,
    /// When it began.
    pub at: Timestamp,
    #[serde(flatten)]
    pub by: TestedBy,
}

/// What ran the tests.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum TestedBy {
    Job {
        pipeline_id: PipelineId,
        /// The path of the workflow file.
        file: String,
        job: String,
        attempt: u32,
    },
    Run {
        run_id: RunId,
    },
}

/// A test, and how it went of late. A test that several jobs run is told for each of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestHistory {
    /// Empty where the producer names none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub suite: String,
    pub name: String,
    /// As the producer writes it: relative to where it ran, or absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How it ended last.
    pub state: TestState,
    /// How often it passed, failed and was skipped, among the results that are kept.
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// It passed and failed on the same files, or its own runner said so.
    pub flaky: bool,
    /// It failed last, on another branch than the default branch, where it passed last.
    pub new: bool,
    /// How long it took last, in milliseconds, and half of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub median_ms: Option<u64>,
    /// Of a test that failed last: the first of the failures on that branch since it passed there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<TestedAt>,
    pub last: TestedAt,
}

impl TestedBy {
    /// What the results of one kind have in common, and are compared within: the job of a workflow file, or all runs.
    pub fn series(&self) -> String {
        match self {
            Self::Job { file, job, .. } => format!("{file}/{job}"),
            Self::Run { .. } => String::new(),
        }
    }
}

/// `ci.yml test`, or `run`
impl fmt::Display for TestedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job { file, job, .. } => {
                write!(f, "{} {job}", file.rsplit('/').next().unwrap_or_default())
            }
            Self::Run { .. } => f.write_str("run"),
        }
    }
}
