//! A request for a run as every face takes it and as it is kept: one shape for all kinds.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::argv::Args;
use super::request::{Command, RunOptions, RunRequest, Sync};
use branchyard_model::{BranchName, CommitId, OnDisconnect, Problem, RepoName};

/// The body of a request for a run. Unknown fields are refused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RunRequest")]
pub struct RunBody {
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
    /// Have no part of what was built in other workspaces: a new one is not made from a sibling's, and one that was is
    /// cleaned first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
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
}

impl RunBody {
    /// `operation` and `task` belong to one kind of request each.
    pub fn make(self) -> Result<RunRequest, Problem> {
        let body = self
            .of_one_branch()?
            .without("operation", |body| body.operation.is_some())?
            .without("task", |body| body.task.is_some())?;
        Ok(RunRequest {
            options: body.options()?,
            command: Command::Make {
                args: body.args,
                env: body.env,
                reuse: body.reuse,
            },
        })
    }

    pub fn git(self) -> Result<RunRequest, Problem> {
        let body = self
            .of_one_branch()?
            .without("task", |body| body.task.is_some())?
            .without("reuse", |body| body.reuse)?;
        if !body.env.is_empty() {
            return Err(Problem::unprocessable(
                "env",
                "a git command takes no variables from its caller",
            ));
        }
        let options = body.options()?;
        let operation = body.operation.ok_or_else(|| {
            Problem::unprocessable(
                "operation",
                "operation is missing: the git verb, such as status",
            )
        })?;
        Ok(RunRequest {
            command: Command::Git {
                operation,
                args: body.args,
            },
            options,
        })
    }

    pub fn task(self) -> Result<RunRequest, Problem> {
        let body = self
            .of_one_branch()?
            .without("operation", |body| body.operation.is_some())?;
        let options = body.options()?;
        let task = body.task.ok_or_else(no_task)?;
        Ok(RunRequest {
            command: Command::Task {
                task,
                args: body.args,
                env: body.env,
                reuse: body.reuse,
            },
            options,
        })
    }

    /// As a request for a group: its branches, and what is asked for on each of them.
    pub(super) fn for_each_branch(self, repo: &RepoName) -> Result<(Vec<String>, Self), Problem> {
        self.check_repo(repo)?;
        let mut body = self
            .without("operation", |body| body.operation.is_some())?
            .without("branch", |body| body.branch.is_some())?
            .without("coalesce", |body| body.coalesce)?;
        body.output = false;
        Ok((std::mem::take(&mut body.branches), body))
    }

    /// What is asked for on each branch of a group.
    pub(super) fn of_member(self) -> Result<RunRequest, Problem> {
        match self.task {
            Some(_) => self.task(),
            None => self.make(),
        }
    }

    /// As a request for a group that runs make.
    pub fn group_of_make(self) -> Result<Self, Problem> {
        self.without("task", |body| body.task.is_some())
    }

    /// As a request for a group that runs a task.
    pub fn group_of_task(self) -> Result<Self, Problem> {
        match self.task {
            Some(_) => Ok(self),
            None => Err(no_task()),
        }
    }

    /// What the body says must be what the path says.
    pub fn check_place(&self, repo: &RepoName, branch: &BranchName) -> Result<(), Problem> {
        self.check_repo(repo)?;
        match self.branch.as_ref().is_some_and(|given| given != branch) {
            true => Err(elsewhere("branch")),
            false => Ok(()),
        }
    }

    fn check_repo(&self, repo: &RepoName) -> Result<(), Problem> {
        match self.repo.as_ref().is_some_and(|given| given != repo) {
            true => Err(elsewhere("repo")),
            false => Ok(()),
        }
    }

    fn of_one_branch(self) -> Result<Self, Problem> {
        self.without("branches", |body| !body.branches.is_empty())?
            .without("output", |body| body.output)
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

    /// What all kinds have in common.
    fn options(&self) -> Result<RunOptions, Problem> {
        Ok(RunOptions {
            timeout: self.timeout.clone(),
            sync: self.sync.with(self.commit.clone())?,
            clean: self.clean,
            cold: self.cold,
            stale: self.stale,
            coalesce: self.coalesce,
            supersede: self.supersede,
            on_disconnect: self.on_disconnect,
            detach: self.detach,
            join_own: false,
            unwatched: false,
        })
    }
}

/// As the body that asks for the same.
impl From<RunOptions> for RunBody {
    fn from(options: RunOptions) -> Self {
        let (sync, commit) = Sync::of(&options.sync);
        Self {
            timeout: options.timeout,
            sync,
            commit,
            clean: options.clean,
            cold: options.cold,
            stale: options.stale,
            coalesce: options.coalesce,
            supersede: options.supersede,
            on_disconnect: options.on_disconnect,
            detach: options.detach,
            ..Self::default()
        }
    }
}

fn no_task() -> Problem {
    Problem::unprocessable("task", "task is missing: the name of a task of this repo")
}

fn elsewhere(field: &str) -> Problem {
    Problem::unprocessable(field, format!("{field} differs from the one in the path"))
}
