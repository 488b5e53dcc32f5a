//! `[repos.NAME]`: one repository.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::build::MakeArg;
use super::{
    BuildOutput, CredentialConfig, EnvName, EnvValue, FileGlobs, Include, ProgramName,
    RepoPipelines, RepoSandbox, RepoUrl, SecretName, SecretUser, Setup, Task, TaskName, Tool,
};
use super::{count, value};
use branchyard_model::BranchName;

/// One section for each repository; its name has letters, digits, '.', '_' and '-'.
// In the file the URL is text, since what it may be depends on `[git]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a section [repos.NAME]")]
pub struct RepoConfig<Url = RepoUrl> {
    /// Where it is cloned from: https://host/path, ssh://user@host/path, user@host:path, or with `git.allow_local` a path.
    /// Never with a password in it.
    #[schemars(extend("example" = "https://git.example.org/team/demo.git"))]
    pub url: Url,
    /// What opens the remote of this repo, in place of `[git.credentials]`.
    pub credential: Option<CredentialConfig>,
    /// The branch that is meant where none is named.
    #[schemars(with = "Option<String>", extend("example" = "main", "x-default" = "the remote's HEAD"))]
    pub default_branch: Option<BranchName>,
    /// Branches whose workspaces are made ready at start.
    #[serde(default, deserialize_with = "value::branches")]
    #[schemars(with = "Vec<String>")]
    pub prewarm: Vec<BranchName>,
    /// The variable in the daemon's environment that holds the secret of this repo's webhooks, in place of its forge's.
    /// Either this or `webhook_secret_file`, or neither.
    #[schemars(extend("example" = "DEMO_WEBHOOK_SECRET", "x-default" = "none"))]
    pub webhook_secret_env: Option<String>,
    /// The file that holds the secret of this repo's webhooks, mode 600, in place of its forge's. It is read again for each
    /// webhook.
    #[schemars(extend("example" = "~/.config/branchyard/demo-webhook-secret", "x-default" = "none"))]
    pub webhook_secret_file: Option<PathBuf>,
    /// Whether everyone may see at `/badges/NAME`, without a credential, how the newest builds of its branches went.
    #[serde(default)]
    pub badge: bool,
    /// Commands that callers may start by name: a program and its arguments, with no shell between.
    #[serde(default)]
    #[schemars(extend("example" = { "lint": ["make", "lint"] }))]
    pub tasks: BTreeMap<TaskName, Task>,
    /// What every run in this repo has in its environment, besides PATH, HOME and the daemon's own.
    #[serde(default)]
    #[schemars(extend("example" = { "CFLAGS": "-O2" }))]
    pub env: BTreeMap<EnvName, EnvValue>,
    /// Which runs of this repo are given which of `[secrets]`, and in which variable: those of a task, by its name, make, for
    /// make runs, or a job of a workflow file as FILE/JOB, which finds it as `secrets.VARIABLE` where its commit is the newest
    /// that the remote has on a branch of the secret. No caller can set such a variable. On a branch that a secret is not for, and with arguments or
    /// variables of the caller, a task is refused, and make goes without, with a warning. The workspace has to be exactly
    /// what the remote has, or the run is refused until it says `clean: true`.
    #[serde(default)]
    #[schemars(extend("example" = { "stats": { "NPM_TOKEN": "npm" } }))]
    pub secrets: BTreeMap<SecretUser, BTreeMap<EnvName, SecretName>>,
    /// What builds make, which is no work of anyone's, in the manner of .gitignore: a pattern without a slash matches at any
    /// depth.
    #[serde(default)]
    pub build_output: BuildOutput,
    /// The JUnit reports that the tests of this repo write, in the manner of .gitignore. Those that a test run wrote tell its
    /// tests; where there are none, its output does.
    #[schemars(extend("example" = ["target/nextest/default/junit.xml"], "x-default" = "[\"junit.xml\", \"TEST-*.xml\"]"))]
    pub reports: Option<FileGlobs>,
    /// Files that are kept of a make run or a task that succeeded, as the `path` of actions/upload-artifact names them. GET
    /// /api/runs/{run}/artifacts has them.
    #[serde(default)]
    #[schemars(extend("example" = ["dist/**"]))]
    pub artifacts: Vec<String>,
    /// Whether a branch may say in its own `.branchyard/repo.yml` what makes its workspace ready to work in, under `setup` and
    /// as in `[repos.NAME.setup]`, which it then goes without.
    #[serde(default)]
    pub setup_on_branch: bool,
    /// How many jobs a `make` run of this repo has that says nothing of `-j`.
    #[serde(default, deserialize_with = "count::count")]
    #[schemars(extend("example" = 4, "x-default" = "build.jobs"))]
    pub jobs: Option<usize>,
    /// Commands that tell which tools this repo is built with. A run that is asked for with `reuse` is answered from an
    /// earlier one only if all of them print what they printed then. They are asked outside of any workspace; each is a
    /// program, by name or absolute path, and its arguments.
    #[serde(default)]
    #[schemars(extend("example" = [["cc", "--version"], ["make", "--version"]]))]
    pub toolchain: Vec<Tool>,
    /// What a new workspace starts from. "nearest": the workspace of this repo whose files differ least, if nothing is under
    /// way there; sources and build output are copied, so that the first build has only the difference to do. Copied is what
    /// `build_output` names, and what runs made and .gitignore covers. A workspace with other new files that git shows is not
    /// copied from. "off": a plain checkout, for repos whose branches must not see what others built.
    #[serde(default)]
    pub warm: WarmStart,
    /// Whether workspaces and jobs of pipelines have the files of submodules. "auto": of those that may be cloned; others stay
    /// empty, with a warning that says why. "require": a run or job with one that may not be cloned is rejected. "off": all stay empty. A submodule
    /// may be on the host of this repo, or on any that callers may register. Who can push a branch here reads what git's
    /// credentials open there.
    #[serde(default)]
    pub submodules: Filling,
    /// Whether workspaces and jobs of pipelines have the contents of files that git-lfs keeps. "auto": where git-lfs is installed;
    /// else they stay pointers, with a warning. "require": without it a run or job with such a file is rejected. "off": they
    /// stay pointers. Contents that the remote does not give out are an error but where this is "off".
    #[serde(default)]
    pub lfs: Filling,
    /// Extra `make` arguments that callers may pass in this repo.
    #[serde(default)]
    pub allow_make_args: Vec<MakeArg>,
    /// Extra environment variables that callers may set in this repo.
    #[serde(default)]
    pub allow_env: Vec<EnvName>,
    /// Programs that callers may start by `exec` in this repo, each exactly as they write it; interpreters of scripts are
    /// among them. An empty list allows none.
    #[schemars(extend("example" = ["cargo", "pytest"], "x-default" = "all"))]
    pub allow_exec: Option<Vec<ProgramName>>,
    /// Runs that execute in this repo at the same time.
    #[serde(default, deserialize_with = "count::count")]
    #[schemars(extend("example" = 16, "x-default" = "limits.max_concurrent_runs_per_repo"))]
    pub max_concurrent_runs: Option<usize>,
    #[serde(default)]
    pub sandbox: RepoSandbox,
    pub setup: Option<Setup>,
    pub include: Option<Include>,
    #[serde(default)]
    pub pipelines: RepoPipelines,
}

/// Whether a new workspace takes over what a sibling has built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WarmStart {
    /// From the sibling whose files differ least.
    #[default]
    Nearest,
    /// Always a plain checkout.
    Off,
}

/// Whether what a commit names and its repository does not have is brought: submodules, and contents of LFS files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Filling {
    /// What may be had.
    #[default]
    Auto,
    /// All, or it is an error.
    Require,
    /// Nothing.
    Off,
}

impl Filling {
    /// Whether what is missing is an error.
    pub fn is_required(self) -> bool {
        self == Self::Require
    }

    /// Whether it is told what is missing.
    pub fn is_wanted(self) -> bool {
        self != Self::Off
    }
}

impl RepoConfig {
    /// A repo of which only the URL is known: registered over the API, or by `BRANCHYARD_REPOS`.
    pub fn new(url: RepoUrl) -> Self {
        RepoConfig::<()>::default().with_url(url)
    }
}

impl<Url> RepoConfig<Url> {
    /// The same settings for another URL.
    pub(super) fn with_url<Other>(self, url: Other) -> RepoConfig<Other> {
        RepoConfig {
            url,
            credential: self.credential,
            webhook_secret_env: self.webhook_secret_env,
            webhook_secret_file: self.webhook_secret_file,
            badge: self.badge,
            default_branch: self.default_branch,
            prewarm: self.prewarm,
            tasks: self.tasks,
            env: self.env,
            secrets: self.secrets,
            build_output: self.build_output,
            reports: self.reports,
            artifacts: self.artifacts,
            jobs: self.jobs,
            toolchain: self.toolchain,
            warm: self.warm,
            submodules: self.submodules,
            lfs: self.lfs,
            allow_make_args: self.allow_make_args,
            allow_env: self.allow_env,
            allow_exec: self.allow_exec,
            max_concurrent_runs: self.max_concurrent_runs,
            sandbox: self.sandbox,
            setup: self.setup,
            include: self.include,
            pipelines: self.pipelines,
            setup_on_branch: self.setup_on_branch,
        }
    }
}
