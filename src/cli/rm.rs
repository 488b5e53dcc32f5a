//! `rm`: a workspace goes; work in it is kept.

use serde_json::{Value, json};

use super::Context;
use super::client::{Answer, Query};
use super::exit::Failure;
use super::progress::patiently;
use super::values::BranchArgs;

/// Remove a branch's workspace
///
/// Refuses if work would be lost: unpushed commits, changes, stashes, files of your own. With
/// --force all of that is saved first, for `branchyard salvage`. The remote branch stays.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard rm app feature/login
  branchyard rm app feature/login --force")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
    /// Also if there is work in it, which is saved first
    #[arg(long)]
    force: bool,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let BranchArgs { repo, branch } = &args.at;
    let query = Query::default().flag("force", args.force);
    let path = query.after(&args.at.path(""));
    let message = format!("removing {branch} of {repo}");
    let answer = patiently(&context.console, &message, context.client.delete(&path)).await?;
    // Where there was nothing to save, the daemon has nothing to say.
    let saved: Value = match answer.body.is_empty() {
        true => Value::Null,
        false => answer.parse()?,
    };
    let salvage = &saved["salvage"];
    if let (false, Some(id)) = (context.console.json, salvage["id"].as_str()) {
        context.console.warning(&format!(
            "what was in it is saved; `branchyard salvage restore {id}` brings it back"
        ));
    }
    let done = json!({"repo": repo, "branch": branch, "removed": true, "salvage": salvage});
    let note = format!("removed the workspace of {branch} of {repo}");
    context.done(&Answer::ours(&done), &note)
}
