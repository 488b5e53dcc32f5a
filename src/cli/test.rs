//! `test`: the tests of a branch.

use super::Context;
use super::exit::Failure;
use super::run::{RunFlags, start, start_and_watch};
use super::subject::Subject;
use super::test_results::print_failed;
use super::values::{self, BranchArgs};
use branchyard_model::BranchName;
use branchyard_runs::RunBody;

/// Run the tests of a branch, and print those that failed
///
/// Runs the task that is called test, or `make test` where the operator declared none; `--task` names another, and a
/// command after `--` is run in its place, on what is in the workspace now. Ends with the command's own exit code.
/// What failed is told with its message and place, and whether it is new: known failures fail on the base too, flaky
/// tests both passed and failed on the same tree.
#[derive(Debug, clap::Args)]
#[command(override_usage = "branchyard test [OPTIONS] <REPO> <BRANCH> [-- PROGRAM ARGS...]")]
#[command(after_long_help = "\
Examples:
  branchyard test app main
  branchyard test --task unit-tests --base release/1 app feature/login
  branchyard test app main -- pytest -q --junitxml=junit.xml")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
    /// A command to run in place of a task
    #[arg(value_name = "PROGRAM", last = true)]
    command: Vec<String>,
    /// The task that tests [default: test]
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    task: Option<String>,
    /// The branch whose latest tests tell new failures from known ones [default: the default branch]
    #[arg(long, value_name = "BRANCH", value_parser = values::branch)]
    base: Option<BranchName>,
    /// A JUnit report that the tests write, by path or glob; may be repeated
    #[arg(long = "report", value_name = "GLOB")]
    reports: Vec<String>,
    #[command(flatten)]
    flags: RunFlags,
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let what = RunBody {
        task: args.task,
        argv: args.command,
        base: args.base,
        reports: args.reports,
        ..RunBody::default()
    };
    let place = (&args.at.repo, Some(&args.at.branch));
    let request = args.flags.request(place, "test", &[], what);
    if args.flags.detach {
        return start(context, &request, false, true).await;
    }
    let (code, subject) = start_and_watch(context, &request, false).await?;
    if let (Some(Subject::Run(run)), false) = (subject, context.console.json) {
        print_failed(context, run).await?;
    }
    Ok(code)
}
