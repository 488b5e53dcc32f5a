//! `unpin`: a workspace goes by the usual rules again.

use serde_json::json;

use super::Context;
use super::client::Answer;
use super::exit::Failure;
use super::values::BranchArgs;

/// Let a pinned workspace go by the usual rules again
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Example:
  branchyard unpin app main")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let BranchArgs { repo, branch } = &args.at;
    context.client.delete(&args.at.path("/pin")).await?;
    let done = json!({"repo": repo, "branch": branch, "pinned": null});
    let note = format!("unpinned the workspace of {branch} of {repo}");
    context.done(&Answer::ours(&done), &note)
}
