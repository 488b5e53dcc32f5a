//! Code environments that commands run in: made when they are first used, and installed into.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::verbs::At;
use super::{AuthorizedApp, runs, verbs};
use branchyard_model::{
    BranchName, EndState, ErrorKind, Problem, RepoName, RunKind, RunState, Scope,
};
use branchyard_process::find_program;
use branchyard_runs::{RunBody, RunRequest};
use branchyard_workspace::code_env::{
    CodeEnv, EnvKind, check_name, configure, identity, requirement,
};
use branchyard_workspace::{Workspace, files};

/// What `install_dependencies` takes.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct InstallRequest {
    /// Names with versions, such as `requests==2.32.3`.
    pub packages: Vec<String>,
    /// In place of packages: a file of the workspace that lists them, such as requirements.txt, or a project's uv.lock for uv.
    pub file: Option<String>,
    /// The code environment; `default`, which is a venv where it was not configured.
    pub code_env: Option<String>,
    /// How long it may take, such as "10m".
    pub timeout: Option<String>,
}

/// The request for a run that installs what is asked for.
pub async fn install(
    app: &AuthorizedApp,
    (repo, branch): (&RepoName, &BranchName),
    asked: InstallRequest,
) -> Result<RunRequest, Problem> {
    app.require(Scope::CodeRun)?;
    app.check(repo, branch)?;
    check_name("code_env", asked.code_env.as_deref())?;
    requirement::check_packages(&asked.packages)?;
    let what = match (&*asked.packages, &asked.file) {
        ([], None) => {
            let detail = "packages is missing: names with versions; or file, which lists them";
            return Err(Problem::unprocessable("packages", detail));
        }
        ([_, ..], Some(_)) => {
            let detail = "there are packages and a file: choose one";
            return Err(Problem::unprocessable("file", detail));
        }
        (packages, None) => What::Packages(packages.to_vec()),
        ([], Some(file)) => What::File(file.clone()),
    };
    let at = At {
        repo: repo.clone(),
        branch: branch.clone(),
    };
    let workspace = app.workspace(repo, branch)?;
    let name = asked.code_env.as_deref();
    let env = match find(&workspace, name).await? {
        Some(env) => env,
        None => {
            let usual = configure::Request {
                action: configure::EnvAction::Configure,
                name: None,
                kind: Some(EnvKind::Venv),
                python: None,
            };
            let mut envs = verbs::configure_code_env(app.clone(), at, usual)
                .await?
                .answer
                .envs;
            envs.swap_remove(0)
        }
    };
    if let What::File(file) = &what {
        files::check_beneath(&workspace, vec![file.clone()])
            .await
            .map_err(|error| app.judge(error).field("file"))?;
    }
    let dir = env.dir(&workspace).to_string_lossy().into_owned();
    RunBody {
        argv: argv_to_install(&env, &dir, what)?,
        code_env: Some(env.name),
        timeout: asked.timeout,
        ..RunBody::default()
    }
    .exec()
}

/// The file from which uv installs a whole project.
const UV_LOCK: &str = "uv.lock";

enum What {
    Packages(Vec<String>),
    File(String),
}

fn argv_to_install(env: &CodeEnv, dir: &str, what: What) -> Result<Vec<String>, Problem> {
    let python = format!("{dir}/bin/python");
    let is_lock = |file: &String| Path::new(file).file_name() == Some(OsStr::new(UV_LOCK));
    let lock = matches!(&what, What::File(file) if is_lock(file));
    let command: Vec<&str> = match (env.kind, lock) {
        (EnvKind::None, _) => {
            let detail = format!(
                "the code environment {} has no packages of its own",
                env.name
            );
            return Err(Problem::unprocessable("code_env", detail)
                .help("configure it as venv, uv or conda with code_env"));
        }
        (EnvKind::Venv, _) => vec![
            "python",
            "-m",
            "pip",
            "install",
            "--no-input",
            "--disable-pip-version-check",
        ],
        (EnvKind::Uv, true) => vec!["uv", "sync", "--frozen", "--active", "--no-install-project"],
        (EnvKind::Uv, false) => vec!["uv", "pip", "install", "--python", &python],
        (EnvKind::Conda, _) => vec!["conda", "install", "--yes", "--quiet", "--prefix", dir],
    };
    let mut argv: Vec<_> = command.into_iter().map(str::to_owned).collect();
    match what {
        What::Packages(packages) => argv.extend(packages),
        What::File(file) if lock && env.kind == EnvKind::Uv => {
            // Its project is where it is, which need not be the top of the workspace.
            let project = Path::new(&file).parent().map(Path::to_string_lossy);
            if let Some(project) = project.filter(|project| !project.is_empty()) {
                argv.extend(["--project".to_owned(), format!("./{project}")]);
            }
        }
        What::File(file) => {
            let option = if env.kind == EnvKind::Conda {
                "--file"
            } else {
                "-r"
            };
            // By its place, what could be an address or an option is a file.
            argv.extend([option.to_owned(), format!("./{file}")]);
        }
    }
    Ok(argv)
}

/// Makes the environment that a command is to run in, unless it is there as its settings and the machine's interpreter
/// would have it.
pub async fn ensure(
    app: &AuthorizedApp,
    (repo, branch): (&RepoName, &BranchName),
    request: &RunRequest,
) -> Result<(), Problem> {
    if request.kind() != RunKind::Exec {
        return Ok(());
    }
    app.require(Scope::CodeRun)?;
    app.check(repo, branch)?;
    let workspace = app.workspace(repo, branch)?;
    let _only_one = workspace.code_envs().lock().await;
    let Some(env) = find(&workspace, request.code_env()).await? else {
        return Ok(());
    };
    let path = app.config().build_env_base.get(OsStr::new("PATH"));
    let path = path.cloned().unwrap_or_default();
    let made_with = interpreters(&env, &path)?;
    if env.is_made(&workspace, &made_with) {
        return Ok(());
    }
    let making = RunBody {
        argv: argv_to_make(&env, &env.dir(&workspace).to_string_lossy()),
        code_env: Some(env.name.clone()),
        ..RunBody::default()
    };
    env.clear(&workspace).map_err(|error| app.judge(error))?;
    let mut making = making.exec()?;
    making.set_unwatched(true);
    let started = runs::start(app, repo, branch, making, None).await?;
    if let Some(live) = &started.live {
        live.ended().await;
    }
    let record = runs::get(app, started.id)?;
    if record.state != RunState::Ended(EndState::Succeeded) {
        let (name, state, id) = (&env.name, record.state.as_str(), started.id);
        let detail = format!("the code environment {name} could not be made: run {id} {state}");
        return Err(Problem::new(ErrorKind::Conflict, "code_env_failed", detail)
            .field("code_env")
            .help(format!(
                "read what it said with run_log or GET /api/runs/{id}/log"
            )));
    }
    let noted = env.note_made(&workspace, &made_with);
    noted.map_err(|error| app.judge(error))
}

fn argv_to_make(env: &CodeEnv, dir: &str) -> Vec<String> {
    let python = env.interpreter();
    let conda_python = format!("python={}", env.python.as_deref().unwrap_or("3"));
    let argv: Vec<&str> = match env.kind {
        EnvKind::Venv | EnvKind::None => vec![&python, "-m", "venv", dir],
        EnvKind::Uv => vec![
            "uv",
            "venv",
            "--python",
            env.python.as_deref().unwrap_or("3"),
            dir,
        ],
        EnvKind::Conda => vec![
            "conda",
            "create",
            "--yes",
            "--quiet",
            "--prefix",
            dir,
            &conda_python,
        ],
    };
    argv.into_iter().map(str::to_owned).collect()
}

/// The programs that would make it, by what changes when others take their place.
fn interpreters(env: &CodeEnv, path: &OsStr) -> Result<String, Problem> {
    let python = env.interpreter();
    let tool = match env.kind {
        EnvKind::None => return Ok(String::new()),
        EnvKind::Venv => &python,
        EnvKind::Uv => "uv",
        EnvKind::Conda => "conda",
    };
    if find_program(tool, path).is_none() {
        let detail = format!(
            "{tool} is not on the daemon's machine, and the code environment {} needs it",
            env.name
        );
        return Err(Problem::new(ErrorKind::Unprocessable, "code_env_missing", detail)
            .field("code_env")
            .help("configure another kind or python with code_env, or have the operator install it"));
    }
    // Not all that the daemon finds is shown to builds: a change of any counts.
    let files = std::env::split_paths(path).map(|dir| dir.join(&python));
    let found: Vec<_> = files.filter_map(|file| identity(&file).ok()).collect();
    Ok(found.join("\n"))
}

async fn find(workspace: &Arc<Workspace>, name: Option<&str>) -> Result<Option<CodeEnv>, Problem> {
    let (workspace, name) = (workspace.clone(), name.map(str::to_owned));
    let found = tokio::task::spawn_blocking(move || CodeEnv::find(&workspace, name.as_deref()));
    let failed = |error| Problem::new(ErrorKind::Internal, "look_failed", format!("{error}"));
    let found = found
        .await
        .map_err(|error: tokio::task::JoinError| failed(error))?;
    found.map_err(|error| error.problem())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_one_of_the_workspace_whatever_it_is_called() {
        for kind in [EnvKind::Venv, EnvKind::Uv, EnvKind::Conda] {
            let env = CodeEnv {
                name: "default".to_owned(),
                kind,
                python: None,
            };
            for file in [
                "https://evil.example/r.txt",
                "--pre",
                "deep/requirements.txt",
                "myuv.lock",
                "deep/myuv.lock",
            ] {
                let argv = argv_to_install(&env, "/env", What::File(file.to_owned())).unwrap();
                assert_eq!(argv.last().unwrap(), &format!("./{file}"));
                assert!(!argv.contains(&"sync".to_owned()), "{argv:?}");
            }
        }
    }

    #[test]
    fn a_lock_file_of_uv_is_that_of_its_own_project() {
        let env = CodeEnv {
            name: "default".to_owned(),
            kind: EnvKind::Uv,
            python: None,
        };
        for (file, project) in [
            ("uv.lock", None),
            ("sub/uv.lock", Some("./sub")),
            ("--deep/er/uv.lock", Some("./--deep/er")),
        ] {
            let argv = argv_to_install(&env, "/env", What::File(file.to_owned())).unwrap();
            assert_eq!(argv[..3], ["uv", "sync", "--frozen"]);
            let at = argv.iter().position(|word| word == "--project");
            let named = at.map(|at| argv[at + 1].as_str());
            assert_eq!(named, project, "{argv:?}");
        }
    }
}
