//! Where a branch stands here and on its remote, for what brings the two together.

use std::sync::Arc;
use std::time::Instant;

use crate::repos::remote;
use crate::{Error, Report, Reporter, Workspace, prepare};
use branchyard_git as git;
use branchyard_git::verbs::Verbosity;
use branchyard_git::verbs::conflicts::Conflict;
use branchyard_model::{BranchName, CommitId};

/// What the remote has for the branch now, and the store too.
pub(super) async fn learn(
    workspace: &Arc<Workspace>,
    report: &Reporter,
) -> Result<Option<CommitId>, Error> {
    let asked = remote::ask(workspace.repo(), workspace.branch(), Instant::now()).await?;
    prepare::bring(workspace, &asked, report).await?;
    workspace.note(|record| record.fetched_at = Some(asked.at))?;
    Ok(asked.head)
}

/// The same for any `branch` of the remote.
pub(super) async fn learn_of(
    workspace: &Arc<Workspace>,
    branch: &BranchName,
    report: &Reporter,
) -> Result<Option<CommitId>, Error> {
    if branch == workspace.branch() {
        return learn(workspace, report).await;
    }
    let asked = remote::ask(workspace.repo(), branch, Instant::now()).await?;
    let tell = report.clone();
    let progress = move |phase, percent| tell(Report::Phase(phase, percent));
    remote::bring(workspace.repo(), branch, &asked, &progress).await?;
    Ok(asked.head)
}

pub(super) async fn tip(workspace: &Arc<Workspace>) -> Result<CommitId, Error> {
    workspace
        .with_repository(|_, repo| {
            let head = git::head(repo)?.commit;
            Ok(git::commit_id(head)?)
        })
        .await
}

/// Conflicts, with as much about each as is wanted.
pub(super) fn told(conflicts: Vec<Conflict>, verbosity: Verbosity) -> Vec<Conflict> {
    let told = conflicts.into_iter().map(|found| found.told(verbosity));
    told.collect()
}
