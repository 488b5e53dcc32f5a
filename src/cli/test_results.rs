//! `tests`: the tests of a run or of a job, a line each.

use clap::ValueEnum;

use super::Context;
use super::client::encode;
use super::exit::Failure;
use super::id_name::{self, IdName};
use super::render::printable;
use branchyard::http::TestPage;
use branchyard_model::{RunId, TestCase};

/// Print the tests of a run, or of a job of a pipeline
///
/// One on each line, those that failed first: file:line: failed (new): suite name: message.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard tests 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard tests --state failed --json 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard tests 0197a3b4-9f1e-7c55-8d02-6b7a8c9d0e1f unit        of the job unit of a pipeline")]
pub(crate) struct Args {
    /// The run, with JOB the pipeline: its id, or the start or the end of that
    #[arg(value_name = "RUN|PIPELINE", value_parser = id_name::run_or_pipeline)]
    of: IdName<String>,
    /// The job, by its id
    job: Option<String>,
    /// Only tests in this state
    #[arg(long, value_enum)]
    state: Option<StateArg>,
    /// Only so many of them [default: 50, 500 at most]
    #[arg(long, value_name = "COUNT")]
    limit: Option<usize>,
    /// Where to go on: the `next` of an earlier answer
    #[arg(long, value_name = "NUMBER")]
    from: Option<usize>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StateArg {
    Failed,
    Passed,
    Skipped,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    let state = args.state.map(|state| match state {
        StateArg::Failed => "state=failed".to_owned(),
        StateArg::Passed => "state=passed".to_owned(),
        StateArg::Skipped => "state=skipped".to_owned(),
    });
    let from = args.from.map(|from| format!("from={from}"));
    let limit = args.limit.map(|limit| format!("limit={limit}"));
    let query: Vec<_> = [state, from, limit].into_iter().flatten().collect();
    let of = args.of.find(context).await?;
    let at = match &args.job {
        None => format!("/api/runs/{of}"),
        Some(job) => format!("/api/pipelines/{of}/jobs/{}", encode(job)),
    };
    let path = format!("{at}/tests?{}", query.join("&"));
    let answer = context.client.get(&path).await?;
    context.show(&answer, |page| print(context, &page))
}

/// The failed tests of a run that has just ended, as far as a screen has room for them.
pub(super) async fn print_failed(context: &Context, run: RunId) -> Result<(), Failure> {
    let path = format!("/api/runs/{run}/tests?state=failed");
    let answer = context.client.get(&path).await?;
    context.show(&answer, |page| print(context, &page))?;
    Ok(())
}

fn print(context: &Context, page: &TestPage) -> Result<(), Failure> {
    let line = |test: &TestCase| format!("{}\n", printable(&test.to_string()));
    let lines: String = page.items.iter().map(line).collect();
    context.console.print(lines.as_bytes())?;
    let mut note = page.counts.to_string();
    if let Some(next) = page.next {
        note.push_str(&format!("; --from {next} has more"));
    }
    context.console.note(&note);
    Ok(())
}
