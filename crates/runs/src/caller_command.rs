//! A command of a caller's that is executed in scratch worktrees, by the rules of one that is executed in a workspace.

use std::collections::BTreeMap;
use std::time::Duration;

use super::exec::check_allowed;
use super::open::Runs;
use super::request::RunBody;
use super::spec::{self, caller_env};
use branchyard_auth::Principal;
use branchyard_model::{BranchName, Problem, RunKind, Scope};
use branchyard_workspace::repos::Repo;

/// What is to be executed.
#[derive(Debug)]
pub struct CallerCommand {
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub timeout: Duration,
}

/// The command of a body with a task, or with `argv` of its own. That the branch is protected does not count: nothing of it
/// is changed in a scratch worktree.
pub fn caller_command(
    runs: &Runs,
    (repo, branch): (&Repo, &BranchName),
    body: RunBody,
    principal: &Principal,
) -> Result<CallerCommand, Problem> {
    let inner = runs.inner();
    let (config, own) = (&inner.config, repo.config());
    if body.task.is_some() {
        let (spec, _) = spec::of(config, repo, branch, &body.task()?, principal)?;
        return Ok(CallerCommand {
            argv: spec.argv,
            env: spec.env,
            timeout: spec.timeout,
        });
    }
    let request = body.exec()?;
    principal.require(Scope::CodeRun)?;
    inner.sandboxes.check(own, RunKind::Exec)?;
    let argv = request.body().argv.clone();
    check_allowed(repo, &argv, None)?;
    Ok(CallerCommand {
        argv,
        env: caller_env(config, repo, &request)?,
        timeout: request.timeout(config.timeouts.run, config.timeouts.run_max)?,
    })
}
