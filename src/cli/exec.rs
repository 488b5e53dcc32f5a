//! `exec`: a command of one's own.

use std::io::Read;
use std::path::PathBuf;

use super::Context;
use super::client::{Start, encode};
use super::exit::Failure;
use super::run::start;
use super::values::{self, BranchArgs};
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
    let body = RunBody {
        argv,
        script,
        args: Words::List(words),
        interpreter: args.interpreter,
        stdin: stdin.transpose()?,
        env: args.env.into_iter().collect(),
        timeout: args.timeout,
        detach: args.detach,
        ..RunBody::default()
    };
    let [repo, branch] = [args.at.repo.as_str(), args.at.branch.as_str()].map(encode);
    let path = format!("/stream/repos/{repo}/branches/{branch}/exec");
    let request = Start::new(path, &body, args.idempotency_key.as_ref());
    start(context, &request, false, args.detach).await
}
