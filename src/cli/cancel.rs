//! `cancel`: end runs, or say who keeps them going.

use serde::Deserialize;

use super::Context;
use super::args::CancelArgs;
use super::exit::{self, Failure};
use super::subject::Subject;
use branchyard_model::{GroupId, RunId};

/// A run or a group, as far as its end goes.
#[derive(Deserialize)]
struct CancelAnswer {
    state: String,
    /// How many others want it still.
    #[serde(default)]
    wanted_by: usize,
}

pub(super) async fn cancel(context: &Context, args: &CancelArgs) -> Result<u8, Failure> {
    if let Some(group) = args.group {
        cancel_group(context, group).await?;
    }
    let mut failed = None;
    for run in &args.runs {
        // The others are to be cancelled all the same.
        if let Err(failure) = cancel_run(context, *run, args.force).await
            && let Some(earlier) = failed.replace(failure)
        {
            context.console.failure(&earlier);
        }
    }
    failed.map_or(Ok(exit::OK), Err)
}

async fn cancel_run(context: &Context, run: RunId, force: bool) -> Result<(), Failure> {
    let answer = context.client.cancel(Subject::Run(run), force).await?;
    if context.console.json() {
        return context.console.print_json(&answer);
    }
    let cancelled: CancelAnswer = answer.parse()?;
    let note = match (cancelled.state.as_str(), cancelled.wanted_by) {
        ("queued" | "preparing" | "running", 0) => format!("cancelling {run}"),
        ("queued" | "preparing" | "running", others) => {
            let others = match others {
                1 => "another one wants".to_owned(),
                _ => format!("{others} others want"),
            };
            format!("{run} goes on: {others} it still; --force ends it for all")
        }
        (state, _) => format!("{run} has ended already: {state}"),
    };
    context.console.note(&note);
    Ok(())
}

async fn cancel_group(context: &Context, group: GroupId) -> Result<(), Failure> {
    let answer = context.client.cancel(Subject::Group(group), false).await?;
    if context.console.json() {
        return context.console.print_json(&answer);
    }
    let cancelled: CancelAnswer = answer.parse()?;
    context.console.note(&match cancelled.state.as_str() {
        "running" => format!("cancelling the runs of {group}"),
        state => format!("{group} has ended already: {state}"),
    });
    Ok(())
}
