//! `git`: a git operation as a run.

use super::Context;
use super::exit::Failure;
use super::run::{RunFlags, start};
use super::values::BranchArgs;
use branchyard_runs::RunBody;

/// Run git in a branch's workspace
///
/// What follows the operation goes to git as it is, options included; options for branchyard
/// stand before it. Operations and arguments that could leave the workspace are refused.
#[derive(Debug, clap::Args)]
#[command(override_usage = "branchyard git [OPTIONS] <REPO> <BRANCH> <OPERATION> [ARGS...]")]
#[command(after_long_help = "\
Examples:
  branchyard git app main status --short
  branchyard git app main --sync none log --oneline -n 5
  branchyard git app feature/login diff --stat -- src")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
    // One list, so that everything after its first word is left alone, our own flags too.
    /// The git operation, such as status, and its arguments
    #[arg(value_name = "OPERATION", required = true, num_args = 1..)]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
    #[command(flatten)]
    flags: RunFlags,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let Some((operation, words)) = args.command.split_first() else {
        return Err(Failure::usage("name a git operation, such as status"));
    };
    if operation.starts_with('-') {
        return Err(
            Failure::usage(format!("{operation} is no option of `branchyard git`"))
                .help("options for git stand after the operation: `branchyard git app main log --oneline`"),
        );
    }
    let what = RunBody {
        operation: Some(operation.clone()),
        ..RunBody::default()
    };
    let place = (&args.at.repo, Some(&args.at.branch));
    let request = args.flags.request(place, "git", words, what);
    start(context, &request, false, args.flags.detach).await
}

#[cfg(test)]
mod tests {
    use super::super::tests::parse;
    use super::super::{ClientCommand, Command};

    #[test]
    fn git_gets_what_follows_its_operation_as_it_is() {
        let Command::Client(ClientCommand::Git(args)) = parse(&[
            "git", "app", "main", "--clean", "--env", "A=b", "log", "--json", "-q", "--help", "--",
            "--sync", "src",
        ])
        .command
        else {
            panic!("not git");
        };
        assert_eq!(
            args.command,
            ["log", "--json", "-q", "--help", "--", "--sync", "src"]
        );
        assert!(args.flags.clean);
        assert_eq!(args.flags.env, [("A".to_owned(), "b".to_owned())]);
    }
}
