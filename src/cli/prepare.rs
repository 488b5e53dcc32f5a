//! `prepare`: a branch's workspace, ready to be used.

use super::Context;
use super::exit::Failure;
use super::progress::patiently;
use super::render::short_commit;
use super::values::BranchArgs;
use branchyard::http::{PrepareBody, Ready};

/// Make a branch's workspace ready, and print where it is
///
/// With --from the branch is created, from another branch or a commit, if nobody has it yet.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard prepare app feature/login
  branchyard prepare app fix/typo --from main
  cd \"$(branchyard prepare app main)\"")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
    /// Create the branch from this branch or commit
    #[arg(long, value_name = "START")]
    from: Option<String>,
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let console = &context.console;
    let BranchArgs { repo, branch } = &args.at;
    let body = PrepareBody {
        from: args.from,
        ..PrepareBody::default()
    };
    let message = format!("preparing {branch} of {repo}");
    let path = args.at.path("");
    let answer = patiently(console, &message, context.client.put(&path, &body)).await?;
    context.show(&answer, |ready: Ready| {
        for warning in &ready.warnings {
            console.warning(&warning.message);
        }
        let workspace = ready.workspace;
        if console.stderr_is_terminal {
            let commit = workspace.commit.as_ref();
            let commit = commit.map_or("no commit", |commit| short_commit(commit.as_str()));
            console.note(&format!("{branch} is ready at {commit}"));
        }
        console.print_line(&workspace.path.unwrap_or_default().to_string_lossy())
    })
}
