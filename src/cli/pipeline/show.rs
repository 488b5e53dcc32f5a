//! `pipeline show`: a pipeline with its jobs and their steps.

use super::words;
use crate::cli::Context;
use crate::cli::exit::Failure;
use crate::cli::id_name::{self, IdName};
use crate::cli::render::{Cell, Listing, human_duration};
use crate::cli::subject::Subject;
use branchyard_model::{JobRecord, PipelineId, PipelineRecord, PipelineState, StepRecord};

/// Show a pipeline with its jobs and their steps
///
/// A line for each job, and below it one for each of its steps, with the run that executes it: `branchyard log RUN` has
/// what it printed, `branchyard diagnostics RUN` what it complained about. Ends with 0 whatever became of the pipeline.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pipeline show 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard pipeline show 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --json | jq -r .state")]
pub(crate) struct Args {
    /// The pipeline: its id, or the start or the end of that
    #[arg(value_parser = id_name::pipeline)]
    pipeline: IdName<PipelineId>,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let path = Subject::Pipeline(args.pipeline.find(context).await?).path();
    let answer = context.client.get(&path).await?;
    context.show(&answer, |record: PipelineRecord| {
        let console = &context.console;
        console.note(&words::title(&record));
        for warning in &record.warnings {
            console.warning(&warning.message);
        }
        let mut listing = Listing::new(TITLES);
        for job in &record.jobs {
            listing.row(job_row(job));
            for step in &job.steps {
                listing.row(step_row(job, step));
            }
        }
        console.print_listing(listing)?;
        words::held(&record).for_each(|text| console.note(&text));
        if !console.quiet {
            let is_good = record.state == PipelineState::Succeeded;
            console.verdict(&words::verdict(&record), is_good);
        }
        Ok(())
    })
}

const TITLES: &str = "JOB, STEP, NAME, STATE, EXIT, TOOK, RUN, WHY, ARTIFACTS; \
                      ARTIFACTS, EXIT, TOOK, STEP, JOB";

fn job_row(job: &JobRecord) -> Vec<Cell> {
    let took = words::took(job);
    vec![
        Cell::text(&job.job),
        Cell::default(),
        Cell::text(&job.name),
        Cell::whole(job.state.as_str()).tone(words::tone_of_job(job.state)),
        Cell::default(),
        Cell::number(took).shown_as(took.map(human_duration).unwrap_or_default()),
        Cell::default(),
        Cell::sentence(words::because(job)),
        Cell::text(job.artifacts.join(", ")),
    ]
}

fn step_row(job: &JobRecord, step: &StepRecord) -> Vec<Cell> {
    vec![
        // For people it stands above.
        Cell::text(&job.job).shown_as(""),
        Cell::number(Some(step.number)),
        Cell::text(&step.name),
        Cell::whole(step.state.as_str()).tone(words::tone_of_step(step.state)),
        Cell::number(step.exit_code),
        Cell::default(),
        step.run_id.map(Cell::id).unwrap_or_default(),
        Cell::sentence(step.reason.as_ref()),
        Cell::default(),
    ]
}
