//! A request for a run as every face takes it.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::argv::Args;
use branchyard_model::{BranchName, CommitId, OnDisconnect, Problem, RepoName, SyncMode};

/// The body of a request for a run. Unknown fields are refused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// Must equal the repo in the path, where there is one.
    #[serde(default)]
    pub repo: Option<RepoName>,
    /// Must equal the branch in the path, where there is one.
    #[serde(default)]
    pub branch: Option<BranchName>,
    /// For `git`: the verb.
    #[serde(default)]
    pub operation: Option<String>,
    /// For `task`: the name of a task that the operator declared for the repo.
    #[serde(default)]
    pub task: Option<String>,
    /// For a group: the branches, by name or glob.
    #[serde(default)]
    pub branches: Vec<String>,
    /// For a group: whether the stream carries the output of its runs too.
    #[serde(default)]
    pub output: bool,
    /// Arguments: an array, or a string that is split once by shell-word rules.
    #[serde(default)]
    pub args: Args,
    /// Variables added to the command's environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How long the command may run, such as `"10m"`.
    #[serde(default)]
    pub timeout: Option<String>,
    /// `auto` (default), `none`, `commit` or `reset`.
    #[serde(default)]
    pub sync: Sync,
    /// With `sync: commit`: the 40 hex digits of the commit to build.
    #[serde(default)]
    pub commit: Option<CommitId>,
    /// Remove untracked and ignored files first.
    #[serde(default)]
    pub clean: bool,
    /// Go on with what is there when the remote cannot be asked.
    #[serde(default)]
    pub stale: bool,
    /// Join an equal run that is under way.
    #[serde(default)]
    pub coalesce: bool,
    /// End older runs of the same branch and command, queued or running.
    #[serde(default)]
    pub supersede: bool,
    /// Answer from an earlier run that succeeded, if nothing that it saw differs from what this one would see.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reuse: bool,
    /// `cancel` (default) or `continue`: what it means when the one who asked goes away.
    #[serde(default)]
    pub on_disconnect: Option<OnDisconnect>,
    /// Short for `on_disconnect: "continue"`.
    #[serde(default)]
    pub detach: bool,
    /// Nobody is going to watch: said beside the body, and so no part of what was asked for.
    #[serde(skip)]
    pub unwatched: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sync {
    #[default]
    Auto,
    None,
    Commit,
    Reset,
}

/// What is to be executed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    Make,
    Git { operation: String },
    Task { task: String },
}

impl RunRequest {
    /// `operation` and `task` belong to one kind of request each.
    pub fn make(self) -> Result<(Action, Self), Problem> {
        self.of_one_branch()?
            .without("operation", |r| r.operation.is_some())?
            .without("task", |r| r.task.is_some())
            .map(|request| (Action::Make, request))
    }

    pub fn git(self) -> Result<(Action, Self), Problem> {
        let request = self
            .of_one_branch()?
            .without("task", |r| r.task.is_some())?
            .without("reuse", |r| r.reuse)?;
        let operation = request.operation.clone().ok_or_else(|| {
            Problem::unprocessable(
                "operation",
                "operation is missing: the git verb, such as status",
            )
        })?;
        Ok((Action::Git { operation }, request))
    }

    pub fn task(self) -> Result<(Action, Self), Problem> {
        let request = self
            .of_one_branch()?
            .without("operation", |r| r.operation.is_some())?;
        let task = request.task.clone().ok_or_else(|| {
            Problem::unprocessable("task", "task is missing: the name of a task of this repo")
        })?;
        Ok((Action::Task { task }, request))
    }

    fn of_one_branch(self) -> Result<Self, Problem> {
        self.without("branches", |r| !r.branches.is_empty())?
            .without("output", |r| r.output)
    }

    /// As a request for a group: its branches, and what is asked for on each of them.
    pub(super) fn for_each_branch(self, repo: &RepoName) -> Result<(Vec<String>, Self), Problem> {
        if self.repo.as_ref().is_some_and(|given| given != repo) {
            return Err(elsewhere("repo"));
        }
        let mut request = self
            .without("operation", |r| r.operation.is_some())?
            .without("task", |r| r.task.is_some())?
            .without("branch", |r| r.branch.is_some())?
            .without("coalesce", |r| r.coalesce)?;
        request.output = false;
        Ok((std::mem::take(&mut request.branches), request))
    }

    fn without(self, field: &str, has: impl Fn(&Self) -> bool) -> Result<Self, Problem> {
        if has(&self) {
            return Err(Problem::unprocessable(
                field,
                format!("{field} has no meaning in this request"),
            ));
        }
        Ok(self)
    }

    /// What the body says must be what the path says.
    pub fn check_place(&self, repo: &RepoName, branch: &BranchName) -> Result<(), Problem> {
        if self.repo.as_ref().is_some_and(|given| given != repo) {
            return Err(elsewhere("repo"));
        }
        if self.branch.as_ref().is_some_and(|given| given != branch) {
            return Err(elsewhere("branch"));
        }
        Ok(())
    }

    pub(super) fn sync_mode(&self) -> Result<SyncMode, Problem> {
        if self.clean && self.sync == Sync::None {
            return Err(Problem::unprocessable(
                "clean",
                "`clean: true` removes files and `sync: none` may touch nothing: choose one",
            ));
        }
        match (self.sync, &self.commit) {
            (Sync::Commit, Some(commit)) => Ok(SyncMode::Commit(commit.clone())),
            (Sync::Commit, None) => Err(Problem::unprocessable(
                "commit",
                "`sync: commit` needs `commit` with 40 hex digits",
            )),
            (_, Some(_)) => Err(Problem::unprocessable(
                "commit",
                "`commit` goes with `sync: commit`",
            )),
            (Sync::None, None) => Ok(SyncMode::None),
            (Sync::Auto, None) => Ok(SyncMode::Auto),
            (Sync::Reset, None) => Ok(SyncMode::Reset),
        }
    }

    pub(super) fn timeout(&self, default: Duration, max: Duration) -> Result<Duration, Problem> {
        let Some(text) = &self.timeout else {
            return Ok(default);
        };
        let timeout = humantime::parse_duration(text).map_err(|error| {
            Problem::unprocessable("timeout", format!("{text:?} is not a duration: {error}"))
                .help("write it like \"90s\" or \"10m\"")
        })?;
        if timeout > max || timeout.is_zero() {
            let detail = format!(
                "timeout must be above zero and at most {}",
                humantime::format_duration(max)
            );
            return Err(Problem::unprocessable("timeout", detail));
        }
        Ok(timeout)
    }

    pub(super) fn check_company(&self) -> Result<(), Problem> {
        match self.coalesce && self.supersede {
            true => Err(Problem::unprocessable(
                "supersede",
                "`coalesce` joins an equal run and `supersede` ends it: choose one",
            )),
            false => Ok(()),
        }
    }

    pub(super) fn on_disconnect(&self) -> Result<OnDisconnect, Problem> {
        match (self.on_disconnect, self.detach) {
            (Some(OnDisconnect::Cancel), true) => Err(Problem::unprocessable(
                "detach",
                "`detach: true` and `on_disconnect: cancel` contradict each other",
            )),
            (_, true) => Ok(OnDisconnect::Continue),
            (_, false) if self.unwatched => Ok(OnDisconnect::Continue),
            (given, false) => Ok(given.unwrap_or_default()),
        }
    }
}

fn elsewhere(field: &str) -> Problem {
    Problem::unprocessable(field, format!("{field} differs from the one in the path"))
}
