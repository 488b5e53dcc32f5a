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
use branchyard_process::{Launch, Mount};
use branchyard_runtime::disk::{if_there, write_private};
use branchyard_workspace::code_env::{CodeEnv, EnvKind};
use branchyard_workspace::repos::Repo;
use branchyard_workspace::{Error, Workspace, protected_from};

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
        code_env: body.code_env.clone(),
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
    check_allowed(repo, &argv, checks.script_at)?;
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

/// Refuses a program that the operator does not allow.
pub(super) fn check_allowed(
    repo: &Repo,
    argv: &[String],
    script_at: Option<usize>,
) -> Result<(), Problem> {
    let program = argv.first().map_or("", String::as_str);
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
    let field = if script_at.is_some() {
        "interpreter"
    } else {
        "argv"
    };
    Err(problem.field(field).help(help))
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

/// Removes them, once the command has ended.
pub(super) fn discard(home: &Path) -> io::Result<()> {
    for name in [SCRIPT, STDIN] {
        if_there(fs::remove_file(home.join(name)))?;
    }
    Ok(())
}

/// What a command of the caller's own has besides its workspace.
#[derive(Debug, Default)]
pub(super) struct ExecFiles {
    script: Option<PathBuf>,
    stdin: Option<PathBuf>,
    code_env: Option<(EnvKind, PathBuf)>,
    /// The operator names the programs that there may be.
    is_restricted: bool,
}

impl ExecFiles {
    /// Of the run whose directory is `home`. The directory of its environment is made where there is none.
    pub(super) fn of(home: &Path, workspace: &Workspace, checks: &Checks) -> Result<Self, Error> {
        let env = CodeEnv::find(workspace, checks.code_env.as_deref())?;
        let code_env = match env.filter(|env| env.kind != EnvKind::None) {
            None => None,
            Some(env) => Some((env.kind, env.make_dir(workspace)?)),
        };
        let stdin = home.join(STDIN);
        Ok(Self {
            script: checks.script_at.map(|_| home.join(SCRIPT)),
            stdin: fs::exists(&stdin).unwrap_or(false).then_some(stdin),
            code_env,
            is_restricted: workspace.repo().config().allow_exec.is_some(),
        })
    }

    /// What its sandbox shows of the yard besides.
    pub(super) fn mounts(&self) -> impl Iterator<Item = Mount> {
        let script = self.script.clone().map(Mount::ReadOnly);
        let env = self.code_env.clone().map(|(_, dir)| Mount::Writable(dir));
        script.into_iter().chain(env)
    }

    /// Has the command find them.
    pub(super) fn hand_over(self, launch: &mut Launch, checks: &Checks) {
        if let (Some(at), Some(script)) = (checks.script_at, self.script) {
            launch.argv[at] = script.to_string_lossy().into_owned();
        }
        launch.stdin = self.stdin;
        let Some((kind, dir)) = self.code_env else {
            return;
        };
        let dir = dir.to_string_lossy().into_owned();
        if let Some((_, path)) = launch.env.iter_mut().find(|(name, _)| name == "PATH") {
            *path = match self.is_restricted {
                // Callers write there: a name that is allowed must not be theirs.
                true => format!("{path}:{dir}/bin"),
                false => format!("{dir}/bin:{path}"),
            };
        }
        let name = match kind {
            EnvKind::Conda => "CONDA_PREFIX",
            EnvKind::Venv | EnvKind::Uv | EnvKind::None => "VIRTUAL_ENV",
        };
        launch.env.push((name.to_owned(), dir));
    }
}
