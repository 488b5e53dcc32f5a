//! `pipeline run`: starts a pipeline and watches it to its end.

use clap::ValueEnum;

use super::follow::{PipelineWatch, watch_attempt};
use super::{event_kind, forecast};
use crate::cli::Context;
use crate::cli::client::{Start, repo_path};
use crate::cli::exit::Failure;
use crate::cli::signals::Role;
use crate::cli::values::{self, BranchArgs};
use branchyard_model::{CommitId, PipelineRecord, PipelineSource};
use branchyard_pipelines::{InputText, PipelineRequest};
use branchyard_workflow::EventKind;

/// Run a workflow file of a branch
///
/// Runs the newest commit that the yard or the remote has of the branch, and shows how its jobs go: on a terminal a line
/// for each job, which moves; else a line for each job that ended (job, state, milliseconds, why, with tabs between), and
/// notes on stderr. Ctrl-C cancels the pipeline.
///
/// Ends with 0 only if the pipeline succeeded. Else it ends as the step did that failed first, with 124 if a job timed
/// out, 130 if the pipeline was cancelled, and 125 if it was refused, rejected or lost.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pipeline run app main
  branchyard pipeline run app feature/login release.yml --input level=full --input dry=true
  branchyard pipeline run app main --output            and what the steps print, after the name of their job
  branchyard pipeline run app main --check             what it would do, and what earlier jobs answer
  branchyard pipeline run app main --event push        as if the commit had just been pushed
  branchyard pipeline follow \"$(branchyard pipeline run app main --detach)\"")]
pub(crate) struct Args {
    #[command(flatten)]
    at: BranchArgs,
    /// The workflow file, as its path or its name alone; needed where the commit has several
    file: Option<String>,
    /// Run exactly this commit of the branch (40 hex digits)
    #[arg(long, value_name = "SHA", value_parser = values::commit)]
    commit: Option<CommitId>,
    /// The event that it is run for [default: `workflow_dispatch` where the file has it, else its first]
    #[arg(long, value_parser = event_kind())]
    event: Option<EventKind>,
    /// An input of `workflow_dispatch`; may be repeated
    #[arg(long = "input", value_name = "NAME=VALUE", value_parser = values::variable)]
    inputs: Vec<(String, String)>,
    /// What is built
    #[arg(long, value_enum, default_value_t = SourceArg::Commit)]
    source: SourceArg,
    /// Show what the steps print, each line after the name of its job
    #[arg(long)]
    output: bool,
    /// A name for this request: sent again with the same one, it finds the same pipeline
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Only say what it would do: which jobs would be run and which earlier ones would answer, or what is wrong with the file
    #[arg(long, conflicts_with_all = ["output", "idempotency_key", "detach"])]
    check: bool,
    /// Print the pipeline's id and leave; the pipeline goes on without us
    #[arg(long)]
    detach: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SourceArg {
    /// A commit
    Commit,
    /// The files in the workspace of the branch, as they are
    Workspace,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    if args.check {
        return forecast::tell(context, &args.at.repo, &args.request()).await;
    }
    let watched = match args.detach {
        true => None,
        // From here on Ctrl-C cancels, also before the daemon has answered.
        false => Some(PipelineWatch::new(context, Role::Initiator, args.output)?),
    };
    let path = repo_path(&args.at.repo, "/pipelines");
    let start = Start::new(path, &args.request(), args.idempotency_key.as_ref());
    let answer = context.client.start_detached(&start).await?;
    match watched {
        None => context.show(&answer, |started: PipelineRecord| {
            warn(context, &started);
            context.console.print_line(&started.pipeline_id.to_string())
        }),
        Some(watched) => {
            let started: PipelineRecord = answer.parse()?;
            warn(context, &started);
            watch_attempt(context, watched, &started, None).await
        }
    }
}

impl Args {
    fn request(&self) -> PipelineRequest {
        let inputs = self.inputs.iter().cloned();
        PipelineRequest {
            branch: Some(self.at.branch.clone()),
            commit: self.commit.clone(),
            file: self.file.clone(),
            event: self.event.map(|kind| kind.name().to_owned()),
            inputs: inputs
                .map(|(name, value)| (name, InputText(value)))
                .collect(),
            source: match self.source {
                SourceArg::Commit => PipelineSource::Commit,
                SourceArg::Workspace => PipelineSource::Workspace,
            },
        }
    }
}

fn warn(context: &Context, started: &PipelineRecord) {
    for warning in &started.warnings {
        context.console.warning(&warning.message);
    }
}
