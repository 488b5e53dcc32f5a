//! `task`: a command that the operator declared.

use super::Context;
use super::exit::Failure;
use super::run::{RunFlags, start};
use super::values;
use branchyard_model::{BranchName, RepoName};
use branchyard_runs::RunBody;

/// Run a declared task in a branch's workspace
///
/// Tasks are commands that the operator declared in the daemon's configuration. Ends with the
/// task's own exit code. Ctrl-C cancels the run.
#[derive(Debug, clap::Args)]
#[command(override_usage = "branchyard task [OPTIONS] <REPO> <BRANCH> <TASK> [-- ARGS...]")]
#[command(after_long_help = "\
Examples:
  branchyard task app main lint
  branchyard task app 'release/*' lint
  branchyard task app main bench -- --only parser")]
pub(crate) struct Args {
    /// The repository's name
    #[arg(value_parser = values::repo)]
    repo: RepoName,
    /// The branch, as git shows it (main, feature/login), or a glob for several (release/*)
    #[arg(value_parser = values::branch_or_glob)]
    branch: String,
    /// The task's name in the daemon's configuration
    task: String,
    /// Arguments for the task; options need `--` before them
    #[arg(value_name = "ARGS")]
    args: Vec<String>,
    /// Of several branches: show what they print, each line after the name of its branch
    #[arg(long)]
    output: bool,
    #[command(flatten)]
    flags: RunFlags,
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let branch = BranchName::parse(&args.branch).ok();
    let is_group = branch.is_none();
    let what = RunBody {
        task: Some(args.task),
        branches: is_group.then_some(args.branch).into_iter().collect(),
        output: is_group && args.output,
        ..RunBody::default()
    };
    let place = (&args.repo, branch.as_ref());
    let request = args.flags.request(place, "task", &args.args, what);
    start(context, &request, args.output, args.flags.detach).await
}
