//! `pipeline`: workflow files checked, and pipelines started, followed, shown, cancelled and retried.

pub(super) mod check;

mod cancel;
mod follow;
mod forecast;
mod held;
mod jobs_viewer;
mod list;
mod live_jobs;
mod log;
mod repository_files;
mod retry;
mod show;
mod start;
mod words;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::Context;
use super::exit::Failure;
use branchyard_workflow::EventKind;

/// Run workflow files, and see how they went
///
/// A workflow file is a strict subset of GitHub Actions; docs/PIPELINES.md says which. A pipeline is what one of them
/// makes of one event at one commit. Its jobs run in worktrees of their own, never in the branch's workspace.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard pipeline check .branchyard/workflows/ci.yml
  branchyard pipeline run app main
  branchyard pipeline list app --branch main --state failed
  branchyard pipeline log 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b --failed
  branchyard pipeline retry 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b")]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(super) action: PipelineAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PipelineAction {
    Check(check::Args),
    #[command(flatten)]
    Client(PipelineCommand),
}

/// Those that speak to a daemon.
#[derive(Debug, Subcommand)]
pub(crate) enum PipelineCommand {
    Run(start::Args),
    List(list::Args),
    Show(show::Args),
    Follow(follow::Args),
    Log(log::Args),
    Ls(held::LsArgs),
    Cat(held::CatArgs),
    Cancel(cancel::Args),
    Retry(retry::Args),
}

pub(super) async fn run(context: &Context, command: PipelineCommand) -> Result<u8, Failure> {
    match command {
        PipelineCommand::Run(args) => start::run(context, &args).await,
        PipelineCommand::List(args) => list::run(context, &args).await,
        PipelineCommand::Show(args) => show::run(context, &args).await,
        PipelineCommand::Follow(args) => follow::run(context, args).await,
        PipelineCommand::Log(args) => log::run(context, &args).await,
        PipelineCommand::Ls(args) => held::list(context, args).await,
        PipelineCommand::Cat(args) => held::print(context, args).await,
        PipelineCommand::Cancel(args) => cancel::run(context, &args).await,
        PipelineCommand::Retry(args) => retry::run(context, &args).await,
    }
}

fn event_kind() -> impl TypedValueParser<Value = EventKind> {
    PossibleValuesParser::new(EventKind::ALL.map(EventKind::name)).map(|name| {
        let mut all = EventKind::ALL.into_iter();
        all.find(|kind| kind.name() == name)
            .unwrap_or(EventKind::Push)
    })
}
