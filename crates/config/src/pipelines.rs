//! `[pipelines]` and `[repos.NAME.pipelines]`: what is kept of pipelines, which files make them, and what starts by itself.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::count::{few, many};
use super::duration::positive;
use super::{BranchGlobs, FileGlobs, JobPath, TaskName};

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

/// Which workflow files of this repo make pipelines, what they may have, and whether anything starts by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
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
    /// Whether pipelines start by themselves: on what is pushed, on pull requests, and on schedules. What is there when this is
    /// first said starts nothing.
    pub auto: bool,
    /// With `auto`: how often the remote is asked what is new. Pushes through Branchyard and webhooks are heard of at once.
    #[serde(deserialize_with = "positive")]
    pub poll: Duration,
    /// With `auto`: whether pull requests whose commit the remote has on no branch of its own, as those from forks, start
    /// pipelines. They are given no secrets in any case.
    pub forks: ForkPulls,
    /// Which statuses a commit is given at its forge, where `[forges."HOST"]` has a token: one for each workflow file
    /// ("files"), one for each job as well ("jobs"), or none ("off").
    pub statuses: Statuses,
    /// With `auto`: commands that are run in the workspace of a branch when it was pushed to, by what is run: `make`, or the
    /// name of a task.
    #[schemars(extend("example" = "make"))]
    pub on_push: BTreeMap<TaskName, PushRule>,
}

impl Default for RepoPipelines {
    fn default() -> Self {
        Self {
            files: None,
            skip_actions: Vec::new(),
            linux_labels: Vec::new(),
            jobs: BTreeMap::new(),
            auto: false,
            poll: Duration::from_secs(60),
            forks: ForkPulls::Never,
            statuses: Statuses::Files,
            on_push: BTreeMap::new(),
        }
    }
}

/// Which statuses a commit is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Statuses {
    Files,
    Jobs,
    Off,
}

/// What becomes of pull requests from forks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForkPulls {
    /// They start nothing. Who may start pipelines can start one of them by its number.
    Never,
    /// They start pipelines as others do: strangers' code runs here.
    Run,
}

/// A command that a push starts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "a section [repos.NAME.pipelines.on_push.NAME]"
)]
pub struct PushRule {
    /// The branches, as globs.
    #[schemars(extend("example" = ["main", "release/*"], "x-default" = "all"))]
    pub branches: Option<BranchGlobs>,
    /// The arguments, such as the targets of make.
    #[schemars(extend("example" = ["test"]))]
    pub args: Vec<String>,
    /// Whether a newer push ends the run of an older one.
    pub supersede: bool,
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
