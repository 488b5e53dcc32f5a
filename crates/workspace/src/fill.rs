//! The files of a new workspace, checked out.

use std::sync::Arc;

use crate::{Error, Report, Reporter, Workspace};
use branchyard_git::contents;
use branchyard_model::Phase;

pub(super) async fn fill(workspace: &Arc<Workspace>, report: &Reporter) -> Result<(), Error> {
    // The semaphore is never closed.
    let _place = workspace.yard().checkouts.acquire().await;
    report(Report::Phase(Phase::Checkout, None));
    Ok(contents::fill(workspace.worktree(), workspace.repo().git()).await?)
}
