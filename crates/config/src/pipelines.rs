//! `[pipelines]` and `[repos.NAME.pipelines]`: what is kept of pipelines, and which files make them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::FileGlobs;
use super::count::many;
use super::duration::positive;

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
}
