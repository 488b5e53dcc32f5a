//! From a request to a spec: every rule about what may run, applied once, before anything happens. What a body may not
//! say at all was refused when the request was made of it.

use std::collections::BTreeMap;

use super::argv::{self, GitAccess, MakePolicy};
use super::checks::Checks;
use super::exec;
use super::request::RunRequest;
use super::secrets;
use super::written::not_by_itself;
use branchyard_auth::Principal;
use branchyard_config::{Config, TaskName};
use branchyard_model::{BranchName, ErrorKind, Problem, RunKind, RunSpec, Scope, TestSpec};
use branchyard_workspace::repos::Repo;
use branchyard_workspace::{check_is_branch, protected_branch, protected_from};

pub(super) fn of(
    config: &Config,
    repo: &Repo,
    branch: &BranchName,
    request: &RunRequest,
    principal: &Principal,
) -> Result<(RunSpec, Checks), Problem> {
    request.check()?;
    let timeout = request.timeout(config.timeouts.run, config.timeouts.run_max)?;
    let (kind, body) = (request.kind(), request.body());
    let env = caller_env(config, repo, request)?;
    let args = body.args.clone().into_words()?;
    let [operation, task] =
        [&body.operation, &body.task].map(|name| name.as_deref().unwrap_or_default());
    let mut code_sha256 = None;
    let (argv, asked_argv, checks) = match kind {
        RunKind::Make => {
            principal.require(Scope::BuildRun)?;
            make(config, repo, args)?
        }
        RunKind::Git => git(repo, operation, args, branch, principal)?,
        RunKind::Task => {
            principal.require(Scope::BuildRun)?;
            (task_argv(repo, task, args)?, None, Checks::default())
        }
        RunKind::Setup | RunKind::Step => return Err(not_by_itself(kind)),
        RunKind::Exec => {
            let exec = exec::command(&config.code, (repo, branch), body, args, principal)?;
            code_sha256 = exec.code_sha256;
            (exec.argv, None, exec.checks)
        }
    };
    let spec = RunSpec {
        kind,
        repo: repo.name().clone(),
        branch: branch.clone(),
        task: body.task.clone(),
        argv,
        code_sha256,
        asked_argv,
        env,
        timeout,
        background: body.background,
        test: test(repo, request, principal)?,
        ready: body.ready.clone(),
        on_disconnect: request.on_disconnect(),
        sync: request.sync().clone(),
        clean: body.clean,
        cold: body.cold,
        without_setup: body.without_setup,
        stale: body.stale,
        reuse: body.reuse,
        principal: principal.name().to_owned(),
        author: principal.author().cloned(),
        group: None,
        step: None,
    };
    secrets::check(&config.secrets, repo.config(), &spec)?;
    Ok((spec, checks))
}

/// The variables that a caller sets, checked.
pub(super) fn caller_env(
    config: &Config,
    repo: &Repo,
    request: &RunRequest,
) -> Result<BTreeMap<String, String>, Problem> {
    let (env, own) = (request.body().env.clone(), repo.config());
    let allow = config.build.allow_env.iter().chain(&own.allow_env);
    let allow: Vec<String> = allow.map(|name| name.as_str().to_owned()).collect();
    match (request.kind(), &own.allow_exec) {
        // It could run whatever a variable would have it run.
        (RunKind::Exec, None) => argv::own_env(env),
        _ => argv::caller_env(env, &allow),
    }
}

/// The base of the tests is one that the caller may see, for its failures are told.
fn test(
    repo: &Repo,
    request: &RunRequest,
    principal: &Principal,
) -> Result<Option<TestSpec>, Problem> {
    let body = request.body();
    if !body.tests {
        return Ok(None);
    }
    let sees = |base: &BranchName| principal.check(repo.name(), base);
    let without_base = match (&body.base, repo.default_branch()) {
        (Some(base), _) => {
            sees(base).map_err(|problem| problem.field("base"))?;
            false
        }
        (None, Some(default)) => {
            BranchName::parse(&default).map_or(true, |base| sees(&base).is_err())
        }
        // It is known once the repo is cloned.
        (None, None) => principal.require_all_branches().is_err(),
    };
    Ok(Some(TestSpec {
        base: body.base.clone(),
        without_base,
        reports: body.reports.clone(),
    }))
}

/// What is executed, what was asked for where that says less, and what is left to see to.
type Call = (Vec<String>, Option<Vec<String>>, Checks);

fn make(config: &Config, repo: &Repo, args: Vec<String>) -> Result<Call, Problem> {
    let (build, own) = (&config.build, repo.config());
    let allow = build.allow_make_args.iter().chain(&own.allow_make_args);
    let allow: Vec<String> = allow.map(|arg| arg.as_str().to_owned()).collect();
    let number = |jobs: usize| u32::try_from(jobs).unwrap_or(u32::MAX);
    let policy = MakePolicy {
        max_jobs: number(config.limits.max_jobs),
        jobs: own.jobs.or(build.jobs).map(number),
        allow: &allow,
    };
    let checked = argv::make(args, &policy)?;
    let checks = Checks {
        beneath: checked.beneath,
        // The program comes before them.
        open_jobs: checked.open_jobs.iter().map(|at| at + 1).collect(),
        ..Checks::default()
    };
    let asked = checked.asked.map(|args| program("make", args));
    Ok((program("make", checked.args), asked, checks))
}

fn git(
    repo: &Repo,
    operation: &str,
    args: Vec<String>,
    branch: &BranchName,
    principal: &Principal,
) -> Result<Call, Problem> {
    let call = argv::git(operation, args, branch)?;
    if let Some(own) = principal.author() {
        let mut given = call
            .args
            .iter()
            .filter_map(|word| word.strip_prefix("--author="));
        if operation == "commit" && given.any(|author| author != own.to_string()) {
            let detail = format!("commits with this token are by {own}");
            return Err(Problem::unprocessable("args", detail).help("leave --author out"));
        }
    }
    principal.require(match call.access {
        GitAccess::Read => Scope::GitRead,
        GitAccess::Write | GitAccess::Pull | GitAccess::Network => Scope::GitWrite,
    })?;
    if call.pushes() {
        check_is_branch(branch)?;
    }
    let only_looks = call.access == GitAccess::Read || operation == "fetch";
    let is_admin = principal.rights().contains(Scope::Admin);
    let guards_branch = call.pushes() || !(only_looks || is_admin);
    if guards_branch && repo.protects(branch) {
        return Err(match call.pushes() {
            true => protected_branch(branch, "pushed to"),
            false => protected_from(branch, "changed"),
        });
    }
    let checks = Checks {
        pushes: call.pushes(),
        beneath: call.beneath,
        network: call.access == GitAccess::Network,
        brings: call.access == GitAccess::Pull,
        // No option keeps `describe --dirty` out of a repository at a gitlink; only what writes does not see them.
        reads: call.access == GitAccess::Read && operation != "describe",
        guards_branch,
        ..Checks::default()
    };
    Ok((program("git", call.args), None, checks))
}

fn program(name: &str, args: Vec<String>) -> Vec<String> {
    std::iter::once(name.to_owned()).chain(args).collect()
}

fn task_argv(repo: &Repo, task: &str, args: Vec<String>) -> Result<Vec<String>, Problem> {
    let declared = TaskName::parse(task)
        .ok()
        .and_then(|name| repo.config().tasks.get(&name));
    if let Some(declared) = declared {
        return Ok(declared.argv().iter().cloned().chain(args).collect());
    }
    let known: Vec<_> = repo.config().tasks.keys().map(TaskName::as_str).collect();
    let help = match known.is_empty() {
        true => format!("declare tasks under [repos.{}.tasks]", repo.name()),
        false => format!("the tasks of {} are: {}", repo.name(), known.join(", ")),
    };
    let detail = format!("{} has no task named {task:?}", repo.name());
    Err(Problem::new(ErrorKind::NotFound, "task_not_found", detail)
        .field("task")
        .help(help))
}
