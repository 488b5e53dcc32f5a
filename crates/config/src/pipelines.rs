//! `[pipelines]` and `[repos.NAME.pipelines]`: what is kept of pipelines, and which files make them.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::count::{few, many};
use super::duration::positive;
use super::{FileGlobs, JobPath};

/// What is kept of pipelines that have ended. The oldest go first, whichever bound is reached.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [pipelines]")]
pub struct PipelinesConfig {
    /// How long a pipeline is kept.
    #[serde(deserialize_with = "positive")]
    pub keep: Duration,
    /// How many pipelines are kept.
    #[serde(deserialize_with = "many")]
    pub max_pipelines: usize,
    /// Scratch worktrees of failed jobs that are kept for a while, as `hold` of a job says. The oldest goes first.
    #[serde(deserialize_with = "many")]
    pub max_held: usize,
}

impl Default for PipelinesConfig {
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(30 * 24 * 60 * 60),
            max_pipelines: 10_000,
            max_held: 4,
        }
    }
}

/// Which workflow files of this repo make pipelines, and what they may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a section [repos.NAME.pipelines]"
)]
pub struct RepoPipelines {
    /// The workflow files, as paths or globs in the repository, in place of those in `.branchyard/workflows`.
    #[schemars(extend("example" = [".github/workflows/ci.yml"], "x-default" = "[\".branchyard/workflows/*.yml\"]"))]
    pub files: Option<FileGlobs>,
    /// Actions whose steps are left out with a warning, as globs.
    #[schemars(extend("example" = ["codecov/*"]))]
    pub skip_actions: Vec<String>,
    /// Labels of `runs-on` that this machine stands for, besides `linux` and `ubuntu-*`.
    #[schemars(extend("example" = ["self-hosted"]))]
    pub linux_labels: Vec<String>,
    /// What a job has in place of what its file says of it, by FILE/JOB: the name of the workflow file without .yml, and the
    /// job's key in `jobs`. Files outside of `.branchyard/workflows` cannot say these things themselves.
    #[schemars(extend("example" = "ci/test"))]
    pub jobs: BTreeMap<JobPath, RepoJob>,
}

/// What a job of a workflow file has in place of what the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a section [repos.NAME.pipelines.jobs.NAME]"
)]
pub struct RepoJob {
    /// The files that can change its result, as globs: if they are as before, an earlier job answers.
    #[schemars(extend("example" = ["src/**"], "x-default" = "what the file says, or all files"))]
    pub inputs: Option<FileGlobs>,
    /// The files with its test reports, as globs.
    #[schemars(extend("example" = ["target/**/junit.xml"], "x-default" = "what the file says, or none"))]
    pub reports: Option<FileGlobs>,
    /// How often it is tried again by itself.
    pub retry: Option<JobRetry>,
    /// How long its worktree stays after a failure, to be looked into.
    #[serde(deserialize_with = "positive")]
    #[schemars(extend("example" = "30m", "x-default" = "what the file says, or not at all"))]
    pub hold: Option<Duration>,
    /// Whether build output of earlier jobs stays. Such a job neither answers nor is answered.
    #[schemars(extend("example" = true, "x-default" = "what the file says, or false"))]
    pub warm: Option<bool>,
    /// What counts for an answer: all files (`tree`), its `inputs`, or nothing, so that it is always run (`off`).
    #[schemars(extend("example" = "off", "x-default" = "what the file says"))]
    pub reuse: Option<JobReuse>,
}

/// When a job is tried again by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a section [repos.NAME.pipelines.jobs.NAME.retry] with max and on"
)]
pub struct JobRetry {
    /// How often, from 1 to 10.
    #[serde(deserialize_with = "few")]
    #[schemars(extend("example" = 1))]
    pub max: usize,
    /// After which ends.
    #[schemars(extend("example" = ["lost"]))]
    pub on: Vec<RetryOn>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryOn {
    /// Every test that failed is known to pass at times.
    Flaky,
    /// Its supervisor or the machine went down.
    Lost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobReuse {
    Tree,
    Inputs,
    Off,
}
