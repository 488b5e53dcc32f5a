//! Commands and code of an agent's own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::build::start_and_show;
use crate::app::code_env::{self, InstallRequest};
use crate::mcp::call::Call;
use crate::mcp::outcome::{RunOutcome, Wanted};
use crate::mcp::reply::Reply;
use crate::mcp::tool::{Tool, ToolEntry};
use crate::mcp::waiting::{OnCancel, Wait};
use branchyard_config::Toolset;
use branchyard_git::verbs::Effect;
use branchyard_journal::{Query, pattern};
use branchyard_model::{BranchName, Problem, Readiness, RepoName, Scope};
use branchyard_runs::RunBody;
use branchyard_runs::argv::Args;

/// Matching lines that are looked for at once.
const MATCHES: usize = 200;

pub(super) fn tools() -> Vec<Tool> {
    let entry = |name, title, description| ToolEntry {
        name,
        title,
        description,
        set: Toolset::Code,
        right: Scope::CodeRun,
        // A command may do to the workspace whatever it likes.
        effect: Effect::DESTROYS.reaching_out(),
    };
    vec![
        Tool::new::<Exec, RunOutcome<'_>, _>(
            &entry(
                "exec",
                "Run a command",
                "Runs any command in a branch's workspace as it is, in a sandbox, without a shell: argv, or a script with \
                 its interpreter. Answers as make does; tail or grep choose what is shown of the output.",
            ),
            exec,
        ),
        Tool::new::<ExecuteCode, RunOutcome<'_>, _>(
            &entry(
                "execute_code",
                "Execute code",
                "Executes a snippet in a branch's workspace, in a sandbox: the file is kept outside of the worktree. Answers \
                 with stdout, stderr and exit_code apart.",
            ),
            execute_code,
        ),
        Tool::new::<Install, RunOutcome<'_>, _>(
            &entry(
                "install_dependencies",
                "Install packages",
                "Installs packages into a code environment of a branch's workspace, by name and version or from a file that \
                 lists them. The environment is made first where there is none. Answers as make does.",
            ),
            install_dependencies,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Exec {
    repo: RepoName,
    branch: BranchName,
    /// The program and its arguments, such as ["pytest", "-q"].
    #[serde(default)]
    argv: Vec<String>,
    /// In place of argv: a text for interpreter.
    script: Option<String>,
    /// python, shell, bash, node or another that the operator named.
    interpreter: Option<String>,
    /// What it reads from its standard input.
    stdin: Option<String>,
    /// Variables added to the environment.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Such as "10m".
    timeout: Option<String>,
    /// The code environment; default, if there is one.
    code_env: Option<String>,
    /// Skip the repo's set-up.
    #[serde(default)]
    without_setup: bool,
    /// Go on beside other runs, until run_cancel; answers once ready.
    #[serde(default)]
    background: bool,
    /// One of port, line and file.
    ready: Option<Readiness>,
    /// Only so many last lines.
    tail: Option<u64>,
    /// Only lines that match this regex.
    grep: Option<String>,
    /// As for make.
    #[serde(default)]
    wait: Wait,
    /// As for make.
    #[serde(default)]
    on_cancel: OnCancel,
    /// As for make.
    idempotency_key: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ExecuteCode {
    repo: RepoName,
    branch: BranchName,
    /// As interpreter for exec.
    language: String,
    /// The text of the program.
    code: String,
    /// Arguments for the code.
    #[serde(default)]
    args: Args,
    /// As for exec.
    stdin: Option<String>,
    /// As for exec.
    timeout: Option<String>,
    /// As for exec.
    code_env: Option<String>,
    /// As for make.
    #[serde(default)]
    wait: Wait,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Install {
    repo: RepoName,
    branch: BranchName,
    /// Names with versions, such as ["requests==2.32.3"].
    #[serde(default)]
    packages: Vec<String>,
    /// In place of packages: a file such as requirements.txt.
    file: Option<String>,
    /// The code environment; default, a venv, where not given.
    code_env: Option<String>,
    /// As for exec.
    timeout: Option<String>,
    /// As for make.
    #[serde(default)]
    wait: Wait,
}

async fn install_dependencies(call: Call, asked: Install) -> Result<Reply, Problem> {
    let place = (&asked.repo, &asked.branch);
    let what = InstallRequest {
        packages: asked.packages,
        file: asked.file,
        code_env: asked.code_env,
        timeout: asked.timeout,
    };
    let request = code_env::install(call.app(), place, what).await?;
    let wait = (asked.wait, OnCancel::default());
    start_and_show(&call, place, request, wait, None, Wanted::Since(0)).await
}

async fn exec(call: Call, asked: Exec) -> Result<Reply, Problem> {
    let wanted = match (asked.tail, &asked.grep) {
        (Some(_), Some(_)) => {
            let detail = "tail and grep cannot be had together";
            return Err(Problem::unprocessable("grep", detail));
        }
        (Some(lines), None) => Wanted::Tail(lines),
        (None, Some(wanted)) => Wanted::Matching(Query {
            pattern: pattern(wanted, false)
                .map_err(|error| Problem::unprocessable("grep", error))?,
            context: 0,
            limit: MATCHES,
        }),
        (None, None) => Wanted::Since(0),
    };
    let request = RunBody {
        argv: asked.argv,
        script: asked.script,
        interpreter: asked.interpreter,
        stdin: asked.stdin,
        env: asked.env,
        timeout: asked.timeout,
        code_env: asked.code_env,
        background: asked.background,
        without_setup: asked.without_setup,
        ready: asked.ready,
        ..RunBody::default()
    };
    let place = (&asked.repo, &asked.branch);
    let wait = (asked.wait, asked.on_cancel);
    let key = asked.idempotency_key.as_deref();
    start_and_show(&call, place, request.exec()?, wait, key, wanted).await
}

async fn execute_code(call: Call, asked: ExecuteCode) -> Result<Reply, Problem> {
    let request = RunBody {
        script: Some(asked.code),
        interpreter: Some(asked.language),
        args: asked.args,
        stdin: asked.stdin,
        timeout: asked.timeout,
        code_env: asked.code_env,
        ..RunBody::default()
    };
    let place = (&asked.repo, &asked.branch);
    let wait = (asked.wait, OnCancel::default());
    let request = request.exec().map_err(as_of_code)?;
    let shown = start_and_show(&call, place, request, wait, None, Wanted::Since(0)).await;
    shown.map_err(as_of_code)
}

/// Names the fields as callers of `execute_code` know them.
fn as_of_code(problem: Problem) -> Problem {
    match problem.field.as_deref() {
        Some("script") => problem.field("code"),
        Some("interpreter") => problem.field("language"),
        _ => problem,
    }
}
