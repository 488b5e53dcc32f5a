//! `pipeline ls` and `pipeline cat`: what a failed job left in its worktree.

use crate::cli::Context;
use crate::cli::cat::{self, ReadArgs};
use crate::cli::client::encode;
use crate::cli::exit::Failure;
use crate::cli::id_name::{self, IdName};
use crate::cli::ls::{self, ListedArgs};
use branchyard_model::PipelineId;

/// List what a failed job left in its worktree
///
/// Of a job whose `hold` keeps its worktree, such as `hold: 30m` in the workflow file. Everything is there as the job left
/// it, with what its steps built and changed. Piped, each line is as that of `branchyard ls`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pipeline ls 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b test
  branchyard pipeline ls 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b test build --recursive")]
pub(crate) struct LsArgs {
    #[command(flatten)]
    at: HeldArgs,
    #[command(flatten)]
    listed: ListedArgs,
}

/// Print a file that a failed job left in its worktree
///
/// Of a job whose `hold` keeps its worktree. Prints exactly the file's bytes, or exactly the lines that were asked for.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pipeline cat 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b test build/test.log
  branchyard pipeline cat 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b test config.log --lines 10-40")]
pub(crate) struct CatArgs {
    #[command(flatten)]
    at: HeldArgs,
    #[command(flatten)]
    read: ReadArgs,
}

#[derive(Debug, clap::Args)]
struct HeldArgs {
    /// The pipeline: its id, or the start or the end of that
    #[arg(value_parser = id_name::pipeline)]
    pipeline: IdName<PipelineId>,
    /// The job, by its id
    job: String,
}

impl HeldArgs {
    async fn path(&self, context: &Context, rest: &str) -> Result<String, Failure> {
        let (pipeline, job) = (self.pipeline.find(context).await?, encode(&self.job));
        Ok(format!("/api/pipelines/{pipeline}/jobs/{job}/{rest}"))
    }
}

pub(super) async fn list(context: &Context, args: LsArgs) -> Result<u8, Failure> {
    let path = args.at.path(context, "ls").await?;
    ls::list(context, &path, args.listed).await
}

pub(super) async fn print(context: &Context, args: CatArgs) -> Result<u8, Failure> {
    let path = args.at.path(context, "read_file").await?;
    cat::parts_of_file(context, &path, args.read).await
}
