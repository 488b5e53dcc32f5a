//! `cancel`: end runs, or say who keeps them going.

use super::Context;
use super::exit::{self, Failure};
use super::run_name::RunName;
use super::subject::Subject;
use super::values;
use branchyard::http::Cancelled;
use branchyard_model::{GroupId, GroupRecord, GroupState};

/// Cancel runs
///
/// Asks the command to stop, and after a grace period ends it and all that it started. Does
/// not wait for that; `branchyard follow` does. A run that others joined goes on for them,
/// unless --force is given.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  branchyard cancel 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6b
  branchyard cancel --group 0197a3b4-5c6d-7e8f-9a0b-1c2d3e4f5a6c")]
pub(crate) struct Args {
    /// The runs: their ids, the starts or ends of these, or @last
    #[arg(value_name = "RUN", value_parser = RunName::parse, required_unless_present = "group")]
    runs: Vec<RunName>,
    /// Cancel all runs of this group
    #[arg(long, value_name = "ID", value_parser = values::group)]
    group: Option<GroupId>,
    /// End the runs even if others asked for them too
    #[arg(long, conflicts_with = "group")]
    force: bool,
}

pub(super) async fn run(context: &Context, args: &Args) -> Result<u8, Failure> {
    if let Some(group) = args.group {
        cancel_group(context, group).await?;
    }
    let mut failed = None;
    for run in &args.runs {
        // The others are to be cancelled all the same.
        if let Err(failure) = cancel_run(context, run, args.force).await
            && let Some(earlier) = failed.replace(failure)
        {
            context.console.failure(&earlier);
        }
    }
    failed.map_or(Ok(exit::OK), Err)
}

async fn cancel_run(context: &Context, run: &RunName, force: bool) -> Result<u8, Failure> {
    let run = run.find(context).await?;
    let answer = context.client.cancel(Subject::Run(run), force).await?;
    context.show(&answer, |cancelled: Cancelled| {
        let state = cancelled.record.state;
        context.console.note(&match cancelled.wanted_by {
            _ if state.is_ended() => format!("{run} has ended already: {}", state.as_str()),
            0 => format!("cancelling {run}"),
            others => {
                let others = match others {
                    1 => "another one wants".to_owned(),
                    _ => format!("{others} others want"),
                };
                format!("{run} goes on: {others} it still; --force ends it for all")
            }
        });
        Ok(())
    })
}

async fn cancel_group(context: &Context, group: GroupId) -> Result<u8, Failure> {
    let answer = context.client.cancel(Subject::Group(group), false).await?;
    context.show(&answer, |cancelled: GroupRecord| {
        context.console.note(&match cancelled.state {
            GroupState::Running => format!("cancelling the runs of {group}"),
            state => format!("{group} has ended already: {}", state.as_str()),
        });
        Ok(())
    })
}
