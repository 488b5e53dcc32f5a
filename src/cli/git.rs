//! `git`: a git operation as a run; or, where it only looks, as a read that waits for no run.

use serde_json::json;

use super::Context;
use super::exit::{self, Failure};
use super::outlet::Outlet;
use super::progress::patiently;
use super::run::{RunFlags, SyncArg, start};
use super::stream::Channel;
use super::values::{BranchArgs, PREPARING};
use branchyard::app::GitOutput;
use branchyard::http::Said;
use branchyard_runs::RunBody;

/// What only looks, and so goes on beside a build.
const LOOKS: [&str; 5] = ["status", "log", "diff", "show", "branch"];
/// What stands for bytes that are no UTF-8 in an answer.
const REPLACED: char = '\u{fffd}';

/// Run git in a branch's workspace
///
/// What follows the operation goes to git as it is, options included; options for branchyard
/// stand before it. Operations and arguments that could leave the workspace are refused.
///
/// Without options for branchyard, status, log, diff, show and branch tell what is there: nothing is
/// brought up to date first, and they wait for no build. All other operations wait for their turn.
#[derive(Debug, clap::Args)]
#[command(override_usage = "branchyard git [OPTIONS] <REPO> <BRANCH> <OPERATION> [ARGS...]")]
#[command(after_long_help = "\
Examples:
  branchyard git app main status --short
  branchyard git app main log --oneline -n 5
  branchyard git app main --sync auto log -1            bring the workspace up to date first
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
    if !LOOKS.contains(&operation.as_str()) || args.flags != RunFlags::default() {
        return as_run(context, args, &args.flags, (operation, words)).await;
    }
    if let Some(output) = look(context, args, (operation, words)).await? {
        return print(context, &output);
    }
    // The journal of a run has all of it, byte for byte; and a run that moves no file waits for no other.
    let flags = RunFlags {
        sync: Some(SyncArg::None),
        ..RunFlags::default()
    };
    as_run(context, args, &flags, (operation, words)).await
}

async fn as_run(
    context: &Context,
    args: &Args,
    flags: &RunFlags,
    (operation, words): (&str, &[String]),
) -> Result<u8, Failure> {
    let what = RunBody {
        operation: Some(operation.to_owned()),
        ..RunBody::default()
    };
    let place = (&args.at.repo, Some(&args.at.branch));
    let request = flags.request(place, "git", words, what);
    start(context, &request, false, flags.detach).await
}

/// The short answer to it; `None` where git says more than fits into one, or what is no text, and where events are
/// asked for.
async fn look(
    context: &Context,
    args: &Args,
    (operation, words): (&str, &[String]),
) -> Result<Option<GitOutput>, Failure> {
    let (path, request) = (
        args.at.path("/git/quick"),
        json!({"operation": operation, "args": words}),
    );
    let asking = context.client.post(&path, &request);
    let output = match patiently(&context.console, PREPARING, asking).await {
        Ok(answer) => answer.parse::<Said<GitOutput>>()?.answer,
        // It takes longer, or more memory, than an answer may.
        Err(error) if matches!(error.code(), Some("git_failed" | "took_too_long")) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let said = [&output.stdout, &output.stderr];
    let is_exact = !output.truncated && !said.iter().any(|text| text.contains(REPLACED));
    Ok(Some(output).filter(|_| is_exact && !context.console.json))
}

fn print(context: &Context, output: &GitOutput) -> Result<u8, Failure> {
    let mut outlet = Outlet::new(context.console);
    outlet.write(Channel::Stdout, &[output.stdout.as_bytes()])?;
    outlet.write(Channel::Stderr, &[output.stderr.as_bytes()])?;
    outlet.flush()?;
    let code = output.exit_code.map(u8::try_from);
    Ok(code.and_then(Result::ok).unwrap_or(exit::LOCAL))
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
