//! `[repos.NAME]`: one repository.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::build::MakeArg;
use super::{
    BuildOutput, CredentialConfig, EnvName, EnvValue, RepoSandbox, RepoUrl, SecretName, Task,
    TaskName, Tool, WarmStart,
};
use super::{count, value};
use branchyard_model::BranchName;

/// The settings of one repo. In the file its URL is text, since what it may be depends on `[git]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a section [repos.NAME]")]
pub struct RepoConfig<Url = RepoUrl> {
    /// Where it is cloned from. Required.
    pub url: Url,
    /// What opens the remote, in place of `[git.credentials]`. Default none.
    #[serde(default)]
    pub credential: Option<CredentialConfig>,
    /// The branch that is meant where none is named. Default: the remote's HEAD.
    #[serde(default)]
    pub default_branch: Option<BranchName>,
    /// Branches whose workspaces are made ready at start. Default none.
    #[serde(default, deserialize_with = "value::names")]
    pub prewarm: Vec<BranchName>,
    /// Commands that callers may start by name. Default none.
    #[serde(default)]
    pub tasks: BTreeMap<TaskName, Task>,
    /// What every run in this repo has in its environment. Default nothing.
    #[serde(default)]
    pub env: BTreeMap<EnvName, EnvValue>,
    /// Which runs are given which secrets, and as what: by task, or `make`. Default none.
    #[serde(default)]
    pub secrets: BTreeMap<TaskName, BTreeMap<EnvName, SecretName>>,
    /// What builds make, which is nobody's work. Default `target`, `node_modules` and object files.
    #[serde(default)]
    pub build_output: BuildOutput,
    /// How many jobs a `make` run has that names no number. Default `build.jobs`.
    #[serde(default, deserialize_with = "count::optional")]
    pub jobs: Option<usize>,
    /// What tells which tools build this repo: commands whose output is compared before an earlier run
    /// answers for a later one. Default none.
    #[serde(default)]
    pub toolchain: Vec<Tool>,
    /// What a new workspace starts from. Default `nearest`: a sibling, with what was built there.
    #[serde(default)]
    pub warm: WarmStart,
    /// Extra `make` arguments that callers may pass in this repo. Default none.
    #[serde(default)]
    pub allow_make_args: Vec<MakeArg>,
    /// Extra environment variables that callers may set in this repo. Default none.
    #[serde(default)]
    pub allow_env: Vec<EnvName>,
    /// Runs that execute in this repo at the same time. Default `limits.max_concurrent_runs_per_repo`.
    #[serde(default, deserialize_with = "count::optional")]
    pub max_concurrent_runs: Option<usize>,
    /// What its builds are kept from, in place of and on top of `[sandbox]`.
    #[serde(default)]
    pub sandbox: RepoSandbox,
}

impl<Url> RepoConfig<Url> {
    /// A repo of which only the URL is known: registered over the API, or by `BRANCHYARD_REPOS`.
    pub fn new(url: Url) -> Self {
        Self {
            url,
            credential: None,
            default_branch: None,
            prewarm: Vec::new(),
            tasks: BTreeMap::new(),
            env: BTreeMap::new(),
            secrets: BTreeMap::new(),
            build_output: BuildOutput::default(),
            jobs: None,
            toolchain: Vec::new(),
            warm: WarmStart::default(),
            allow_make_args: Vec::new(),
            allow_env: Vec::new(),
            max_concurrent_runs: None,
            sandbox: RepoSandbox::default(),
        }
    }

    /// The same settings for another URL.
    pub fn with_url<Other>(self, url: Other) -> RepoConfig<Other> {
        RepoConfig {
            url,
            credential: self.credential,
            default_branch: self.default_branch,
            prewarm: self.prewarm,
            tasks: self.tasks,
            env: self.env,
            secrets: self.secrets,
            build_output: self.build_output,
            jobs: self.jobs,
            toolchain: self.toolchain,
            warm: self.warm,
            allow_make_args: self.allow_make_args,
            allow_env: self.allow_env,
            max_concurrent_runs: self.max_concurrent_runs,
            sandbox: self.sandbox,
        }
    }
}
