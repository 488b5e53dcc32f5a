//! A request for a run: the body as every face takes it and as it is kept, one shape for all kinds; and the request
//! that it is, once it is known of which kind.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::argv::Args;
use super::helper;
use branchyard_config::FileGlobs;
use branchyard_model::{
    BranchName, CommitId, OnDisconnect, Problem, Readiness, RepoName, RunKind, SyncMode,
};
use branchyard_workspace::code_env;

/// A longer script or input belongs in a file of the workspace.
const MAX_TEXT: usize = 512 << 10;
/// The task, or make's target, that tests.
pub const TEST_TASK: &str = "test";

/// The body of a request for a run. Unknown fields are refused.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "RunRequest")]
pub struct RunBody {
    /// Must equal the repo in the path, where there is one.
    pub repo: Option<RepoName>,
    /// Must equal the branch in the path, where there is one.
    pub branch: Option<BranchName>,
    /// For `git`: the verb.
    pub operation: Option<String>,
    /// For `task`: the name of a task that the operator declared for the repo.
    pub task: Option<String>,
    /// For `exec`: the program and its arguments.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub argv: Vec<String>,
    /// For `exec`, in place of `argv`: a text for `interpreter`, which is given `args` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
    /// What executes `script`: python, shell, bash, node or another that the configuration names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// For `exec`: what the command reads from its standard input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stdin: Option<String>,
    /// For `exec`: the code environment of the workspace that it runs in; `default`, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code_env: Option<String>,
    /// For `exec`: go on beside other runs of the workspace, until cancelled, at the time limit or with the workspace.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// With `background`: how it is known that it is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<Readiness>,
    /// Whether the tests that it runs are wanted as data: counts in the record, and all of them at `/api/runs/{run}/tests`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tests: bool,
    /// With `tests`: the branch whose latest run tells new failures from known ones; the default branch if left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<BranchName>,
    /// With `tests`: the JUnit reports that the tests write, as globs, in place of those of the configuration.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<String>,
    /// For a group: the branches, by name or glob.
    pub branches: Vec<String>,
    /// For a group: whether the stream carries the output of its runs too.
    pub output: bool,
    /// Arguments: an array, or a string that is split once by shell-word rules.
    pub args: Args,
    /// Variables added to the command's environment.
    pub env: BTreeMap<String, String>,
    /// How long the command may run, such as `"10m"`.
    pub timeout: Option<String>,
    /// `auto` (default), `none`, `commit` or `reset`.
    pub sync: Sync,
    /// With `sync: commit`: the 40 hex digits of the commit to build.
    pub commit: Option<CommitId>,
    /// Remove untracked and ignored files first.
    pub clean: bool,
    /// Have no part of what was built in other workspaces: a new one is not made from a sibling's, and one that was is
    /// cleaned first.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub cold: bool,
    /// Go without the set-up of the repo, as to mend what makes that fail.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without_setup: bool,
    /// Go on with what is there when the remote cannot be asked.
    pub stale: bool,
    /// Join an equal run that is under way.
    pub coalesce: bool,
    /// End older runs of the same branch and command, queued or running.
    pub supersede: bool,
    /// Answer from an earlier run that succeeded, if nothing that it saw differs from what this one would see.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub reuse: bool,
    /// `cancel` (default) or `continue`: what it means when the one who asked goes away.
    pub on_disconnect: Option<OnDisconnect>,
    /// Short for `on_disconnect: "continue"`.
    pub detach: bool,
}

impl RunBody {
    /// `operation` and `task` belong to one kind of request each.
    pub fn make(self) -> Result<RunRequest, Problem> {
        self.of_one_branch()?
            .without("operation", |body| body.operation.is_some())?
            .without("task", |body| body.task.is_some())?
            .of_kind(RunKind::Make)
    }

    pub fn git(self) -> Result<RunRequest, Problem> {
        let body = self
            .of_one_branch()?
            .without("task", |body| body.task.is_some())?
            .without("tests", |body| body.tests)?
            .without("without_setup", |body| body.without_setup)?
            .without("reuse", |body| body.reuse)?;
        if !body.env.is_empty() {
            return Err(Problem::unprocessable(
                "env",
                "a git command takes no variables from its caller",
            ));
        }
        if body.operation.is_none() {
            return Err(Problem::unprocessable(
                "operation",
                "operation is missing: the git verb, such as status",
            ));
        }
        body.of_kind(RunKind::Git)
    }

    pub fn task(self) -> Result<RunRequest, Problem> {
        self.of_one_branch()?
            .without("operation", |body| body.operation.is_some())?
            .group_of_task()?
            .of_kind(RunKind::Task)
    }

    /// A run that tests: `argv`, `task`, the task that is called test if the repo `has_test_task`, or make's target of
    /// that name.
    pub fn test(mut self, has_test_task: bool) -> Result<RunRequest, Problem> {
        self.tests = true;
        if !self.argv.is_empty() || self.script.is_some() {
            return self.exec();
        }
        if self.task.is_none() && !has_test_task {
            let mut args = vec![TEST_TASK.to_owned()];
            args.extend(self.args.into_words()?);
            self.args = Args::List(args);
            return self.make();
        }
        self.task.get_or_insert_with(|| TEST_TASK.to_owned());
        self.task()
    }

    /// A command of the caller's own sees what is there: it is not brought up to date first, and no other run stands in
    /// for it.
    pub fn exec(self) -> Result<RunRequest, Problem> {
        let body = self
            .without("branches", |body| !body.branches.is_empty())?
            .without("output", |body| body.output)?
            .without("operation", |body| body.operation.is_some())?
            .without("task", |body| body.task.is_some())?
            .without("sync", |body| body.sync != Sync::Auto)?
            .without("commit", |body| body.commit.is_some())?
            .without("clean", |body| body.clean)?
            .without("cold", |body| body.cold)?
            .without("stale", |body| body.stale)?
            .without("reuse", |body| body.reuse)?
            .without("coalesce", |body| body.coalesce)?
            .without("supersede", |body| body.supersede)?;
        body.check_command()?;
        let mut request = body.of_kind(RunKind::Exec)?;
        request.sync = SyncMode::None;
        Ok(request)
    }

    /// Either `argv`, or `script` with `interpreter` and perhaps `args`.
    fn check_command(&self) -> Result<(), Problem> {
        let refused = |field, detail: &str| Err(Problem::unprocessable(field, detail));
        let has_args = self.args != Args::default();
        match (&*self.argv, &self.script, &self.interpreter) {
            ([], None, _) => {
                return refused(
                    "argv",
                    "argv is missing: the program and its arguments, such as [\"pytest\", \"-q\"]",
                );
            }
            ([_, ..], Some(_), _) => {
                return refused("script", "there is argv and a script: choose one");
            }
            ([_, ..], None, Some(_)) => {
                return refused("interpreter", "interpreter goes with script");
            }
            ([_, ..], None, None) if has_args => {
                return refused("args", "arguments are a part of argv");
            }
            ([], Some(_), None) => {
                return refused(
                    "interpreter",
                    "interpreter is missing: what executes the script, such as python",
                );
            }
            ([program, ..], None, None) if program.is_empty() => {
                return refused("argv", "the program has no name");
            }
            _ => {}
        }
        for (field, text) in [("script", &self.script), ("stdin", &self.stdin)] {
            if text.as_ref().is_some_and(|text| text.len() > MAX_TEXT) {
                let detail = format!(
                    "{field} has more than {MAX_TEXT} bytes; write it to a file of the workspace"
                );
                return Err(Problem::unprocessable(field, detail));
            }
        }
        code_env::check_name("code_env", self.code_env.as_deref())?;
        match &self.ready {
            Some(_) if !self.background => {
                return refused("ready", "ready goes with background: true");
            }
            Some(ready) => helper::check(ready)?,
            None => {}
        }
        Args::List(self.argv.clone())
            .into_words()
            .map(drop)
            .map_err(|problem| problem.field("argv"))
    }

    /// As a request for a group: its branches, and what is asked for on each of them.
    pub(super) fn for_each_branch(self, repo: &RepoName) -> Result<(Vec<String>, Self), Problem> {
        check_same("repo", self.repo.as_ref(), repo)?;
        let mut body = self
            .without_own_command()?
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
            None => Err(Problem::unprocessable(
                "task",
                "task is missing: the name of a task of this repo",
            )),
        }
    }

    /// What the body says must be what the path says.
    pub fn check_place(&self, repo: &RepoName, branch: &BranchName) -> Result<(), Problem> {
        check_same("repo", self.repo.as_ref(), repo)?;
        check_same("branch", self.branch.as_ref(), branch)
    }

    fn of_one_branch(self) -> Result<Self, Problem> {
        self.without("branches", |body| !body.branches.is_empty())?
            .without("output", |body| body.output)?
            .without_own_command()
    }

    fn without_own_command(self) -> Result<Self, Problem> {
        self.without("argv", |body| !body.argv.is_empty())?
            .without("script", |body| body.script.is_some())?
            .without("interpreter", |body| body.interpreter.is_some())?
            .without("background", |body| body.background)?
            .without("ready", |body| body.ready.is_some())?
            .without("stdin", |body| body.stdin.is_some())?
            .without("code_env", |body| body.code_env.is_some())
    }

    fn without(self, field: &str, has: impl Fn(&Self) -> bool) -> Result<Self, Problem> {
        if has(&self) {
            let detail = format!("{field} has no meaning in this request");
            return Err(Problem::unprocessable(field, detail));
        }
        Ok(self)
    }

    /// What was found to fit its kind.
    fn of_kind(mut self, kind: RunKind) -> Result<RunRequest, Problem> {
        // Where it runs is said beside it.
        (self.repo, self.branch) = (None, None);
        Ok(RunRequest {
            kind,
            sync: self.sync.with(self.commit.clone())?,
            body: self,
            joins_own: false,
            unwatched: false,
        })
    }
}

fn check_same<T: PartialEq>(field: &str, given: Option<&T>, of_path: &T) -> Result<(), Problem> {
    if given.is_none_or(|given| given == of_path) {
        return Ok(());
    }
    let detail = format!("{field} differs from the one in the path");
    Err(Problem::unprocessable(field, detail))
}

/// A request for one run: its body has what its kind takes, and nothing else. What is said beside the body is no part
/// of what was asked for.
#[derive(Debug, Clone)]
pub struct RunRequest {
    kind: RunKind,
    body: RunBody,
    sync: SyncMode,
    joins_own: bool,
    unwatched: bool,
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

impl RunRequest {
    pub fn kind(&self) -> RunKind {
        self.kind
    }

    pub fn code_env(&self) -> Option<&str> {
        self.body.code_env.as_deref()
    }

    pub(super) fn body(&self) -> &RunBody {
        &self.body
    }

    pub(super) fn into_body(self) -> RunBody {
        self.body
    }

    pub(super) fn sync(&self) -> &SyncMode {
        &self.sync
    }

    /// Whether to join an equal run of the caller's own, if nothing was written in its workspace since it began.
    pub(super) fn joins_own(&self) -> bool {
        self.joins_own
    }

    /// A client that gave up on an answer asks again, and means the same build.
    pub fn join_own_build(&mut self) {
        let is_build = matches!(self.kind, RunKind::Make | RunKind::Task);
        self.joins_own = is_build && !self.body.supersede;
    }

    /// Whether no viewer is going to watch.
    pub fn set_unwatched(&mut self, unwatched: bool) {
        self.unwatched = unwatched;
    }

    /// What contradicts itself is refused.
    pub(super) fn check(&self) -> Result<(), Problem> {
        let body = &self.body;
        if body.coalesce && body.supersede {
            return Err(Problem::unprocessable(
                "supersede",
                "`coalesce` joins an equal run and `supersede` ends it: choose one",
            ));
        }
        if body.clean && body.sync == Sync::None {
            return Err(Problem::unprocessable(
                "clean",
                "`clean: true` removes files and `sync: none` may touch nothing: choose one",
            ));
        }
        if body.cold && body.sync == Sync::None {
            return Err(Problem::unprocessable(
                "cold",
                "`cold: true` may remove files and `sync: none` may touch nothing: choose one",
            ));
        }
        let asks_for_tests = body.base.is_some() || !body.reports.is_empty();
        if asks_for_tests && !body.tests {
            let field = if body.base.is_some() {
                "base"
            } else {
                "reports"
            };
            let detail = format!("`{field}` goes with `tests: true`");
            return Err(Problem::unprocessable(field, detail));
        }
        if body.tests && body.background {
            return Err(Problem::unprocessable(
                "tests",
                "tests are told when a run has ended, and `background: true` has no end of its own: choose one",
            ));
        }
        if let Err(rule) = FileGlobs::parse(body.reports.iter().map(String::as_str)) {
            return Err(Problem::unprocessable("reports", rule));
        }
        if body.detach && body.on_disconnect == Some(OnDisconnect::Cancel) {
            return Err(Problem::unprocessable(
                "detach",
                "`detach: true` and `on_disconnect: cancel` contradict each other",
            ));
        }
        Ok(())
    }

    pub(super) fn timeout(&self, default: Duration, max: Duration) -> Result<Duration, Problem> {
        let Some(text) = &self.body.timeout else {
            return Ok(default);
        };
        let timeout = parse_duration("timeout", text)?;
        if timeout > max || timeout.is_zero() {
            let detail = format!(
                "timeout must be above zero and at most {}",
                humantime::format_duration(max)
            );
            return Err(Problem::unprocessable("timeout", detail));
        }
        Ok(timeout)
    }

    pub(super) fn on_disconnect(&self) -> OnDisconnect {
        match self.body.detach || self.body.background || self.unwatched {
            true => OnDisconnect::Continue,
            false => self.body.on_disconnect.unwrap_or_default(),
        }
    }
}

pub(super) fn parse_duration(field: &str, text: &str) -> Result<Duration, Problem> {
    humantime::parse_duration(text).map_err(|error| {
        Problem::unprocessable(field, format!("{text:?} is not a duration: {error}"))
            .help("write it like \"90s\" or \"10m\"")
    })
}

impl Sync {
    /// `commit` belongs to one of them, and is needed there.
    pub fn with(self, commit: Option<CommitId>) -> Result<SyncMode, Problem> {
        match (self, commit) {
            (Self::Commit, Some(commit)) => Ok(SyncMode::Commit(commit)),
            (Self::Commit, None) => Err(Problem::unprocessable(
                "commit",
                "`sync: commit` needs `commit` with 40 hex digits",
            )),
            (_, Some(_)) => Err(Problem::unprocessable(
                "commit",
                "`commit` goes with `sync: commit`",
            )),
            (Self::None, None) => Ok(SyncMode::None),
            (Self::Auto, None) => Ok(SyncMode::Auto),
            (Self::Reset, None) => Ok(SyncMode::Reset),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_does_not_watch_does_not_cancel_by_leaving() {
        let of = |on_disconnect, detach, unwatched| {
            let body = RunBody {
                on_disconnect,
                detach,
                ..RunBody::default()
            };
            let mut request = body.make().unwrap();
            request.set_unwatched(unwatched);
            request.on_disconnect()
        };
        let (cancel, go_on) = (OnDisconnect::Cancel, OnDisconnect::Continue);
        assert_eq!(of(None, false, false), cancel);
        assert_eq!(of(Some(go_on), false, false), go_on);
        assert_eq!(of(None, true, false), go_on);
        for given in [None, Some(cancel), Some(go_on)] {
            assert_eq!(of(given, false, true), go_on);
        }
    }
}
