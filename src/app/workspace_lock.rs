//! The lock of a workspace, for calls that are answered: they wait for it as long as callers wait, or not at all.

use std::sync::Arc;

use tokio::sync::watch;

use super::AuthorizedApp;
use branchyard_model::{ErrorKind, Problem, RunId, RunKind};
use branchyard_runs::Live;
use branchyard_workspace::{Workspace, WorkspaceLock};

/// The lock of a workspace; or, once its command runs, the run that has it: nothing of ours moves files until that ends.
pub(super) async fn lock_or_run(
    app: &AuthorizedApp,
    workspace: &Workspace,
    what: &str,
) -> Result<(Option<WorkspaceLock>, Option<RunId>), Problem> {
    let place = workspace.queue().enter(what, app.principal().name(), None);
    let (holders, mut changed) = watch::channel(());
    let lock = place.wait(|_| {
        holders.send_replace(());
    });
    let lock = tokio::time::timeout(app.config().timeouts.workspace, lock);
    tokio::pin!(lock);
    loop {
        // What git does there may be to move files.
        let run = run_with_lock(app, workspace);
        let run = run.filter(|run| run.record().spec.kind != RunKind::Git);
        let begun = async {
            match run {
                Some(run) if run.command_begins().await => run.id(),
                // The next in line has the lock soon.
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            run = begun => return Ok((None, Some(run))),
            lock = &mut lock => {
                return Ok((Some(lock.map_err(|_| busy(workspace))?), None));
            }
            _ = changed.changed() => {}
        }
    }
}

fn run_with_lock(app: &AuthorizedApp, workspace: &Workspace) -> Option<Arc<Live>> {
    let run = workspace.queue().holder()?.run_id?;
    app.yard().runs.live(run)
}

/// The lock of a workspace, waited for as long as `[timeouts]` says.
pub(super) async fn lock_of(
    app: &AuthorizedApp,
    workspace: &Workspace,
    what: &str,
) -> Result<WorkspaceLock, Problem> {
    let lock = workspace.queue().lock(what, app.principal().name());
    let lock = tokio::time::timeout(app.config().timeouts.workspace, lock).await;
    lock.map_err(|_| busy(workspace))
}

/// The same for what is not to come as a surprise later: a run that has the lock is not waited for.
pub(super) async fn lock_unless_run(
    app: &AuthorizedApp,
    workspace: &Workspace,
    what: &str,
) -> Result<WorkspaceLock, Problem> {
    if let Some(lock) = workspace.queue().try_lock(what, app.principal().name()) {
        return Ok(lock);
    }
    let live = run_with_lock(app, workspace);
    // One that has ended is about to let go.
    match live.is_some_and(|live| !live.has_ended()) {
        true => Err(busy(workspace)),
        false => lock_of(app, workspace, what).await,
    }
}

/// Another caller or run has the lock, and for long.
fn busy(workspace: &Workspace) -> Problem {
    let branch = workspace.branch();
    let holder = match workspace.queue().holder() {
        None => "others are in line".to_owned(),
        Some(holder) => {
            let run = holder.run_id.map(|run| format!(" (run {run})"));
            let (what, run) = (holder.what, run.unwrap_or_default());
            format!("{what}{run} by {} since {}", holder.who, holder.since)
        }
    };
    let detail = format!("the workspace of {branch} is in use: {holder}");
    Problem::new(ErrorKind::Conflict, "workspace_busy", detail)
        .field("branch")
        .help("nothing was done; wait for the run to end or cancel it, then ask again")
}
