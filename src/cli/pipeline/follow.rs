//! `pipeline follow`, and watching a pipeline to its end for whatever command began it.

use super::jobs_viewer::JobsViewer;
use super::words;
use crate::cli::Context;
use crate::cli::exit::Failure;
use crate::cli::id_name::{self, IdName};
use crate::cli::signals::{Interrupts, Role};
use crate::cli::stream::EventStream;
use crate::cli::subject::Subject;
use crate::cli::watch::watch;
use branchyard_model::{PipelineId, PipelineRecord};

/// Show how a pipeline goes, until it ends
///
/// Works for pipelines that go on and for those that ended, and ends with the exit code of `branchyard pipeline run`. Of a
/// pipeline that was retried, the latest attempt is shown. Goes on where it was when the daemon is started anew meanwhile.
/// Ctrl-C stops looking; the pipeline goes on.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pipeline follow 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard pipeline follow 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --output
  branchyard pipeline follow 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --json")]
pub(crate) struct Args {
    /// The pipeline: its id, or the start or the end of that
    #[arg(value_parser = id_name::pipeline)]
    pipeline: IdName<PipelineId>,
    /// Show what the steps print too, each line after the name of its job
    #[arg(long)]
    output: bool,
    /// Begin after this event: the "id" of a line that --json printed
    #[arg(long, value_name = "CURSOR")]
    from: Option<String>,
}

pub(super) async fn run(context: &Context, args: Args) -> Result<u8, Failure> {
    let watched = PipelineWatch::new(context, Role::Onlooker, args.output)?;
    let path = Subject::Pipeline(args.pipeline.find(context).await?).path();
    let record = context.client.get(&path).await?.parse()?;
    watch_attempt(context, watched, &record, args.from).await
}

/// What watches a pipeline, ready before it is known which one it is.
#[derive(Debug)]
pub(super) struct PipelineWatch {
    viewer: JobsViewer,
    interrupts: Interrupts,
    output: bool,
}

impl PipelineWatch {
    /// Hears signals from now on.
    pub(super) fn new(context: &Context, role: Role, output: bool) -> Result<Self, Failure> {
        let viewer = JobsViewer::new(context.console, output);
        let clear = viewer.clearing();
        let interrupts = Interrupts::listen(role, &context.client, context.console, clear)?;
        Ok(Self {
            viewer,
            interrupts,
            output,
        })
    }
}

/// Shows the attempt that `record` is at to its end: what came before it is passed over, and so is all up to `from`.
pub(super) async fn watch_attempt(
    context: &Context,
    watched: PipelineWatch,
    record: &PipelineRecord,
    from: Option<String>,
) -> Result<u8, Failure> {
    let PipelineWatch {
        mut viewer,
        interrupts,
        output,
    } = watched;
    viewer.announce(&words::title(record))?;
    match from {
        // The event that begins the attempt may not come any more.
        Some(_) => viewer.show(record)?,
        None => viewer.wait_for(record.attempt),
    }
    let subject = Subject::Pipeline(record.pipeline_id);
    interrupts.subject_is(subject);
    let stream = EventStream::follow(context.client.clone(), subject, from, output).await?;
    watch(stream, &interrupts, &mut viewer).await
}
