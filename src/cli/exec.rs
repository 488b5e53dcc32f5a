//! `exec`: a command of one's own.

use std::io::Read;
use std::path::PathBuf;

use super::Context;
use super::client::{Start, encode};
use super::exit::{self, Failure};
use super::run::start;
use super::values::{self, BranchArgs};
use branchyard_model::{Readiness, RunRecord, RunState};
use branchyard_runs::RunBody;
use branchyard_runs::argv::Args as Words;

/// Run any command in a branch's workspace
///
/// It runs in the sandbox of builds, on what is in the workspace now: nothing is brought up to date first. Ends with
/// the command's own exit code. Ctrl-C cancels the run.
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "branchyard exec [OPTIONS] <REPO> <BRANCH> <PROGRAM> [ARGS...]\n       \
                            branchyard exec [OPTIONS] --script <FILE> --interpreter <NAME> <REPO> <BRANCH> [ARGS...]"
)]
#[command(after_long_help = "\
Examples:
  branchyard exec app main pytest -q tests/test_login.py
  branchyard exec app main sh -c 'du -sh build | sort'
  branchyard exec --background --ready-port 8080 app main python3 -m http.server 8080
  branchyard exec --script check.py --interpreter python app main
  git diff | branchyard exec --stdin app main git apply --check -")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
    // One list, so that everything after its first word is left alone, our own flags too.
    /// The program and its arguments, as they are
    #[arg(value_name = "PROGRAM", num_args = 0.., required_unless_present = "script")]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
    /// Execute this file in place of a program
    #[arg(long, value_name = "FILE", requires = "interpreter")]
    script: Option<PathBuf>,
    /// What executes the script: python, shell, bash, node or another that the operator named
    #[arg(long, value_name = "NAME", requires = "script")]
    interpreter: Option<String>,
    /// Give the command what comes on standard input here
    #[arg(long)]
    stdin: bool,
    /// End the run after this long, such as 90s, 10m or 1h30m
    #[arg(long, value_name = "DURATION", value_parser = values::duration)]
    timeout: Option<String>,
    /// Add a variable to the command's environment; may be repeated
    #[arg(long = "env", value_name = "KEY=VALUE", value_parser = values::variable)]
    env: Vec<(String, String)>,
    /// The code environment whose programs come first in its PATH [default: the one called default, if there is one]
    #[arg(long, value_name = "NAME")]
    code_env: Option<String>,
    /// Go without the set-up of the repo, as to mend what makes that fail
    #[arg(long)]
    without_setup: bool,
    /// Go on beside other runs of the workspace; print the run's id once it is ready, and leave
    #[arg(long, conflicts_with = "detach")]
    background: bool,
    /// It is ready when this TCP port of the daemon's machine accepts connections
    #[arg(long, value_name = "PORT", requires = "background", group = "ready")]
    ready_port: Option<u16>,
    /// It is ready when it prints a line with this text
    #[arg(long, value_name = "TEXT", requires = "background", group = "ready")]
    ready_line: Option<String>,
    /// It is ready when this file of the workspace is there
    #[arg(long, value_name = "FILE", requires = "background", group = "ready")]
    ready_file: Option<String>,
    /// End it if it is not ready after this long [default: 1m]
    #[arg(long, value_name = "DURATION", requires = "ready", value_parser = values::duration)]
    ready_within: Option<String>,
    /// A name for this request: sent again with the same one, it finds the same run
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Print the run's id and leave; the run goes on without us
    #[arg(long)]
    detach: bool,
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let script = args.script.map(|path| {
        std::fs::read_to_string(&path)
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))
    });
    let stdin = args.stdin.then(|| {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map(|_| text)
            .map_err(|error| Failure::usage(format!("standard input: {error}")))
    });
    let script = script.transpose()?;
    let (argv, words) = match script {
        Some(_) => (Vec::new(), args.command),
        None => (args.command, Vec::new()),
    };
    let ready = Readiness {
        port: args.ready_port,
        line: args.ready_line,
        file: args.ready_file,
        within: args.ready_within,
    };
    let body = RunBody {
        background: args.background,
        without_setup: args.without_setup,
        ready: (ready != Readiness::default()).then_some(ready),
        argv,
        script,
        args: Words::List(words),
        interpreter: args.interpreter,
        stdin: stdin.transpose()?,
        env: args.env.into_iter().collect(),
        code_env: args.code_env,
        timeout: args.timeout,
        detach: args.detach,
        ..RunBody::default()
    };
    let [repo, branch] = [args.at.repo.as_str(), args.at.branch.as_str()].map(encode);
    let path = format!("/stream/repos/{repo}/branches/{branch}/exec");
    let request = Start::new(path, &body, args.idempotency_key.as_ref());
    match args.background {
        true => until_ready(context, &request).await,
        false => start(context, &request, false, args.detach).await,
    }
}

/// Starts a run in the background. Ends as the run does, if that is before it is ready.
async fn until_ready(context: &Context, request: &Start) -> Result<u8, Failure> {
    let mut answer = context.client.start_detached(request).await?;
    let started: RunRecord = answer.parse()?;
    // Known also where what follows is cut short: the run goes on.
    let note = format!("run {} is started in the background", started.run_id);
    context.console.note(&note);
    loop {
        let run: RunRecord = answer.parse()?;
        let id = run.run_id;
        if let RunState::Ended(state) = run.state {
            let why = run.error.map(|error| error.detail).or(run.reason);
            let why = why.map_or(String::new(), |why| format!(": {why}"));
            let note = format!(
                "run {id} is not ready, it has ended: {}{why}",
                state.as_str()
            );
            context.console.note(&note);
            context
                .console
                .note(&format!("`branchyard log {id}` shows what it printed"));
            return Ok(match exit::of_run(state, run.exit_code, run.signal) {
                exit::OK => exit::LOCAL,
                code => code,
            });
        }
        if run.ready_at.is_some() {
            return context.show(&answer, |_: RunRecord| {
                context.console.print_line(&id.to_string())
            });
        }
        let path = format!("/api/runs/{id}?wait=50s&ready=true");
        answer = context.client.get_slowly(&path).await?;
    }
}
