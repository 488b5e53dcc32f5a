//! `pipeline cancel`.

use crate::cli::Context;
use crate::cli::exit::{self, Failure};
use crate::cli::id_name::{self, IdName};
use crate::cli::subject::Subject;
use branchyard_model::{PipelineId, PipelineRecord};

/// Cancel pipelines
///
/// Asks the steps under way to stop, and after a grace period ends them and all that they started. Does not wait for
/// that; `branchyard pipeline follow` does.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Example:
  branchyard pipeline cancel 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b")]
pub(crate) struct Args {
    /// The pipelines: their ids, or the starts or ends of these
    #[arg(value_name = "PIPELINE", value_parser = id_name::pipeline, required = true)]
    pipelines: Vec<IdName<PipelineId>>,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let mut failed = None;
    for pipeline in &args.pipelines {
        // The others are to be cancelled all the same.
        if let Err(failure) = cancel(context, pipeline).await
            && let Some(earlier) = failed.replace(failure)
        {
            context.console.failure(&earlier);
        }
    }
    failed.map_or(Ok(exit::OK), Err)
}

async fn cancel(context: &Context, pipeline: &IdName<PipelineId>) -> Result<u8, Failure> {
    let id = pipeline.find(context).await?;
    let answer = context.client.cancel(Subject::Pipeline(id), false).await?;
    context.show(&answer, |record: PipelineRecord| {
        context.console.note(&match record.state {
            state if state.is_ended() => format!("{id} has ended already: {}", state.as_str()),
            _ => format!("cancelling {id}"),
        });
        Ok(())
    })
}
