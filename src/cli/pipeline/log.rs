//! `pipeline log`: what the steps of a pipeline printed.

use serde_json::json;

use crate::cli::Context;
use crate::cli::client::{Answer, Query};
use crate::cli::exit::{self, Failure};
use crate::cli::id_name::{self, IdName};
use crate::cli::render::printable;
use crate::cli::subject::Subject;
use branchyard_model::{JobRecord, PipelineId, PipelineRecord, RunId, StepRecord, StepState};

/// Print what the steps of a pipeline printed
///
/// Steps come one after another, each below a line with its job, number and name. One step alone is printed byte for
/// byte, without that line. The log of a step that goes on is printed until it ends. Ends with 0 however they ended. With
/// --json there is an object for each step, on a line of its own, with the log as `log`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pipeline log 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --failed
  branchyard pipeline log 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b test --tail 50
  branchyard pipeline log 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b test --step 3 > test.log")]
pub(crate) struct Args {
    /// The pipeline: its id, or the start or the end of that
    #[arg(value_parser = id_name::pipeline)]
    pipeline: IdName<PipelineId>,
    /// Only this job, by its id or its name
    job: Option<String>,
    /// Only this step of the job, by its number
    #[arg(long, value_name = "N", requires = "job")]
    step: Option<usize>,
    /// Only steps that failed
    #[arg(long)]
    failed: bool,
    /// Only the last lines of each step
    #[arg(long, value_name = "N")]
    tail: Option<u64>,
    /// Without colours and other escape sequences
    #[arg(long)]
    strip_ansi: bool,
}

/// A step that has something to print.
struct LoggedStep<'a> {
    job: &'a JobRecord,
    step: &'a StepRecord,
    run: RunId,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let console = &context.console;
    let path = Subject::Pipeline(args.pipeline.find(context).await?).path();
    let record: PipelineRecord = context.client.get(&path).await?.parse()?;
    let steps = chosen(&record, args)?;
    if steps.is_empty() {
        console.note("no step has printed anything");
    }
    let has_titles = args.step.is_none();
    for logged in &steps {
        let path = Query::default()
            .with("tail", args.tail)
            .flag("strip_ansi", args.strip_ansi)
            .after(&format!("/api/runs/{}/log", logged.run));
        let response = context.client.open(&path, "text/plain").await?;
        if console.json {
            print_json(context, logged, response).await?;
            continue;
        }
        if has_titles {
            console.print_line(&format!("==> {} <==", logged.title()))?;
        }
        let broke_off = |cause| Failure::daemon(format!("the log broke off: {cause}"));
        context.print_as_it_comes(response, broke_off).await?;
    }
    Ok(exit::OK)
}

/// The steps that have a run, in the order of the file.
fn chosen<'a>(record: &'a PipelineRecord, args: &Args) -> Result<Vec<LoggedStep<'a>>, Failure> {
    let is_job = |job: &JobRecord| {
        let wanted = args.job.as_ref();
        wanted.is_none_or(|wanted| *wanted == job.job || *wanted == job.name)
    };
    let jobs: Vec<_> = record.jobs.iter().filter(|job| is_job(job)).collect();
    if let (Some(wanted), true) = (&args.job, jobs.is_empty()) {
        let known: Vec<_> = record.jobs.iter().map(|job| job.job.as_str()).collect();
        let known = format!("its jobs are {}", known.join(", "));
        return Err(Failure::usage(format!("the pipeline has no job {wanted:?}")).help(known));
    }
    let is_step = |step: &StepRecord| {
        args.step.is_none_or(|wanted| wanted == step.number)
            && (!args.failed || is_failure(step.state))
    };
    let steps = jobs.into_iter().flat_map(|job| {
        let steps = job.steps.iter().filter(|step| is_step(step));
        steps.filter_map(move |step| step.run_id.map(|run| LoggedStep { job, step, run }))
    });
    Ok(steps.collect())
}

fn is_failure(state: StepState) -> bool {
    matches!(
        state,
        StepState::Failed | StepState::TimedOut | StepState::Lost | StepState::Rejected
    )
}

async fn print_json(
    context: &Context,
    logged: &LoggedStep<'_>,
    response: reqwest::Response,
) -> Result<(), Failure> {
    let bytes = response.bytes().await;
    let bytes = bytes.map_err(|error| Failure::from(context.client.unreachable(&error)))?;
    let LoggedStep { job, step, run } = logged;
    let line = json!({
        "job": job.job, "name": job.name, "step": step.number, "step_name": step.name, "state": step.state,
        "exit_code": step.exit_code, "run_id": run, "log": String::from_utf8_lossy(&bytes),
    });
    context.console.print_json(&Answer::ours(&line))
}

impl LoggedStep<'_> {
    /// `test, step 3: make test (failed)`
    fn title(&self) -> String {
        let (job, step) = (self.job, self.step);
        let state = step.state.as_str();
        printable(&format!(
            "{}, step {}: {} ({state})",
            job.name, step.number, step.name
        ))
    }
}
