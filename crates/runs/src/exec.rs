//! Commands of the caller's own: any program, or a script for an interpreter. What such a command may do is its sandbox's
//! matter; which programs there may be is the operator's.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::checks::Checks;
use super::request::RunBody;
use branchyard_auth::Principal;
use branchyard_config::{CodeConfig, ProgramName};
use branchyard_model::{BranchName, ErrorKind, Problem, Scope, sha256};
use branchyard_process::Launch;
use branchyard_runtime::disk::write_private;
use branchyard_workspace::protected_from;
use branchyard_workspace::repos::Repo;

/// The word that stands for the script in a command line, and the file's name in the run's directory.
const SCRIPT: &str = "script";
const STDIN: &str = "stdin";

/// What is to be executed, and what is left to see to.
pub(super) struct Exec {
    pub(super) argv: Vec<String>,
    pub(super) code_sha256: Option<String>,
    pub(super) checks: Checks,
}

/// The body has a command or a script, and not both.
pub(super) fn command(
    code: &CodeConfig,
    (repo, branch): (&Repo, &BranchName),
    body: &RunBody,
    args: Vec<String>,
    principal: &Principal,
) -> Result<Exec, Problem> {
    principal.require(Scope::CodeRun)?;
    let guards_branch = !principal.rights().contains(Scope::Admin);
    if guards_branch && repo.protects(branch) {
        return Err(protected_from(branch, "worked on"));
    }
    let mut checks = Checks {
        guards_branch,
        ..Checks::default()
    };
    let (mut argv, mut code_sha256) = (body.argv.clone(), None);
    if let Some(script) = &body.script {
        argv = interpreter(code, body.interpreter.as_deref().unwrap_or_default())?;
        checks.script_at = Some(argv.len());
        argv.push(SCRIPT.to_owned());
        code_sha256 = Some(sha256(script.as_bytes()));
    }
    argv.extend(args);
    check_allowed(repo, argv.first().map_or("", String::as_str))?;
    Ok(Exec {
        argv,
        code_sha256,
        checks,
    })
}

fn interpreter(code: &CodeConfig, name: &str) -> Result<Vec<String>, Problem> {
    code.interpreter(name).ok_or_else(|| {
        let detail = format!("there is no interpreter named {name:?}");
        Problem::unprocessable("interpreter", detail).help(format!(
            "choose one of {}; the operator can name others in [code.interpreters]",
            code.interpreter_names().join(", ")
        ))
    })
}

fn check_allowed(repo: &Repo, program: &str) -> Result<(), Problem> {
    let Some(allowed) = &repo.config().allow_exec else {
        return Ok(());
    };
    if allowed.iter().any(|allowed| allowed.as_str() == program) {
        return Ok(());
    }
    let detail = format!("{program:?} may not be started in {}", repo.name());
    let allowed: Vec<_> = allowed.iter().map(ProgramName::as_str).collect();
    let help = match allowed.is_empty() {
        true => "the operator allows no commands of callers in this repo (allow_exec)".to_owned(),
        false => format!("the operator allows: {} (allow_exec)", allowed.join(", ")),
    };
    let problem = Problem::new(ErrorKind::Forbidden, "exec_not_allowed", detail);
    Err(problem.field("argv").help(help))
}

/// Writes what the command is to read into its run's directory.
pub(super) fn keep(home: &Path, body: &RunBody) -> io::Result<()> {
    for (name, text) in [(SCRIPT, &body.script), (STDIN, &body.stdin)] {
        if let Some(text) = text {
            write_private(&home.join(name), text.as_bytes())?;
        }
    }
    Ok(())
}

/// The script that a command is to be shown, if it executes one.
pub(super) fn script(home: &Path, checks: &Checks) -> Option<PathBuf> {
    checks.script_at.map(|_| home.join(SCRIPT))
}

/// Has the command find its script and its input.
pub(super) fn hand_over(launch: &mut Launch, checks: &Checks) {
    if let (Some(at), Some(script)) = (checks.script_at, script(&launch.home, checks)) {
        launch.argv[at] = script.to_string_lossy().into_owned();
    }
    let stdin = launch.home.join(STDIN);
    launch.stdin = fs::exists(&stdin).unwrap_or(false).then_some(stdin);
}
