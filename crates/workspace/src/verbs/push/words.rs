//! How a push is refused.

use crate::Workspace;
use crate::error::conflict;
use branchyard_model::Problem;

pub(super) fn rewritten(workspace: &Workspace) -> Problem {
    let detail = format!(
        "the history of {} was rewritten here: what the remote has is not part of it any more",
        workspace.branch()
    );
    conflict("rewritten", detail)
            .field("force")
            .help("`force: true` replaces what the remote has, if nobody pushed meanwhile; git_pull takes it back in")
}

pub(super) fn not_integrated(workspace: &Workspace) -> Problem {
    let detail = format!(
        "the remote has commits of {} that are not here, and they were not to be taken in",
        workspace.branch()
    );
    conflict("behind", detail)
        .field("integrate")
        .help("push with integrate rebase or merge, or take them in with git_pull")
}

/// Beside a command that runs here nothing is taken in.
pub(super) fn would_move_files(workspace: &Workspace) -> Problem {
    let holder = workspace.queue().holder();
    let holder = holder.map_or_else(String::new, |holder| match holder.run_id {
        Some(run) => format!(" ({}, run {run})", holder.what),
        None => format!(" ({})", holder.what),
    });
    let detail = format!(
        "the remote has commits of {} that are not here, and to take them in would move files under what runs there{holder}",
        workspace.branch()
    );
    conflict("workspace_busy", detail)
        .field("branch")
        .help("what was committed stays; wait for the run to end or cancel it, then push again")
}
