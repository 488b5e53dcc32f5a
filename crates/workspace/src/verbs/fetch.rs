//! Fetching into the store that all workspaces of a repo share.

use std::sync::Arc;
use std::time::Instant;

use crate::repos::remote;
use crate::{Error, Workspace, parallel};
use branchyard_git::verbs::fetch::{Fetched, Known, Request, fetch_all};
use branchyard_model::BranchName;

/// Fetches what was asked for. It waits for no lock: what the store knows of the remote is nobody's
/// work.
pub async fn fetch(workspace: &Arc<Workspace>, request: &Request) -> Result<Fetched, Error> {
    workspace.repo().ensure_store(&|_, _| {}).await?;
    let before = known(workspace).await?;
    let mut missing = Vec::new();
    if request.all {
        let _network = workspace.repo().network().lock().await;
        workspace.repo().guard_store()?;
        fetch_all(workspace.repo().git(), workspace.repo().store(), |_| {}).await?;
    } else {
        let branches = match request.branches.is_empty() {
            true => vec![workspace.branch().clone()],
            false => request.branches.clone(),
        };
        missing = fetch_branches(workspace, branches).await?;
    }
    Ok(Fetched {
        updated: before.changed_to(&known(workspace).await?),
        missing,
    })
}

/// Fetches these branches; those that the remote does not have.
async fn fetch_branches(
    workspace: &Arc<Workspace>,
    branches: Vec<BranchName>,
) -> Result<Vec<BranchName>, Error> {
    let asked_at = Instant::now();
    let fetched = parallel(branches.clone(), |branch| {
        let this = workspace.clone();
        async move {
            let asked = remote::ask(this.repo(), &branch, asked_at).await?;
            remote::bring(this.repo(), &branch, &asked, &|_, _| {}).await?;
            if branch == *this.branch() && this.exists() {
                this.note(|record| record.fetched_at = Some(asked.at))?;
            }
            Ok::<_, Error>(asked.head.is_some())
        }
    })
    .await;
    let mut missing = Vec::new();
    for (branch, fetched) in branches.into_iter().zip(fetched) {
        let is_there = fetched.map_err(|error| Error::Git(error.into()))??;
        if !is_there {
            missing.push(branch);
        }
    }
    Ok(missing)
}

async fn known(workspace: &Arc<Workspace>) -> Result<Known, Error> {
    workspace
        .blocking(|this| Ok(Known::read(&this.repo().open_store()?)?))
        .await
}
