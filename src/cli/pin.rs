//! `pin`: a workspace that does not go by itself.

use super::Context;
use super::exit::Failure;
use super::values::BranchArgs;
use branchyard::http::PinBody;

/// Keep a branch's workspace from being reaped or removed
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pin app release/1.0
  branchyard pin app main --reason 'for the demo on friday'")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
    /// Why, for those who wonder
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let BranchArgs { repo, branch } = &args.at;
    let body = PinBody {
        reason: args.reason,
    };
    let answer = context.client.put(&args.at.path("/pin"), &body).await?;
    let note = format!("pinned the workspace of {branch} of {repo}");
    context.done(&answer, &note)
}
