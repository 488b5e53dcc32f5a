//! `pipeline retry`: another attempt at the jobs that failed.

use super::follow::{PipelineWatch, watch_attempt};
use crate::cli::Context;
use crate::cli::exit::Failure;
use crate::cli::id_name::{self, IdName};
use crate::cli::signals::Role;
use crate::cli::subject::Subject;
use branchyard_model::{PipelineId, PipelineRecord};
use branchyard_pipelines::RetryRequest;

/// Run the failed jobs of a pipeline again, or those that are named
///
/// Jobs that need one of them run again too; what else succeeded stays. The commit and its workflow file are the same.
/// Shows how it goes, and ends with the exit code of `branchyard pipeline run`. Ctrl-C cancels the pipeline.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pipeline retry 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard pipeline retry 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b test-1 test-2 --detach")]
pub(crate) struct Args {
    /// The pipeline: its id, or the start or the end of that
    #[arg(value_parser = id_name::pipeline)]
    pipeline: IdName<PipelineId>,
    /// The jobs, as `branchyard pipeline show` names them; all that failed if left out
    #[arg(value_name = "JOB")]
    jobs: Vec<String>,
    /// Show what the steps print, each line after the name of its job
    #[arg(long)]
    output: bool,
    /// Do not wait for the end; the pipeline goes on without us
    #[arg(long)]
    detach: bool,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let pipeline = args.pipeline.find(context).await?;
    let path = format!("{}/retry", Subject::Pipeline(pipeline).path());
    let request = RetryRequest {
        jobs: args.jobs.clone(),
    };
    if args.detach {
        let answer = context.client.post(&path, &request).await?;
        let note = format!("retrying {pipeline}");
        return context.done(&answer, &note);
    }
    let watched = PipelineWatch::new(context, Role::Initiator, args.output)?;
    let answer = context.client.post(&path, &request).await?;
    let record: PipelineRecord = answer.parse()?;
    watch_attempt(context, watched, &record, None).await
}
