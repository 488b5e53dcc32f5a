//! Where a branch stands here and on its remote, for what brings the two together.

use std::sync::Arc;
use std::time::Instant;

use crate::repos::remote;
use crate::verbs::attempts::Failed;
use crate::{Error, Report, Reporter, Workspace, prepare};
use branchyard_git::verbs::Verbosity;
use branchyard_git::verbs::conflicts::Conflict;
use branchyard_git::{self as git, ObjectId, Seen};
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
    let progress = |phase, percent| report(Report::Phase(phase, percent));
    remote::bring(workspace.repo(), branch, &asked, &progress).await?;
    Ok(asked.head)
}

/// Asks the remote what it has for `branch` now: only that says that `commit` arrived there.
pub(super) async fn verify(
    workspace: &Arc<Workspace>,
    branch: &BranchName,
    commit: ObjectId,
    report: &Reporter,
) -> Result<CommitId, Failed> {
    let Some(there) = learn_of(workspace, branch, report).await? else {
        let gone = "the branch was deleted on the remote right after the push";
        return Err(Failed::Rejected(gone.to_owned()));
    };
    if has(workspace, branch, &there, commit).await? {
        return Ok(there);
    }
    let why = format!("the remote has {there} in its place");
    Err(Failed::Rejected(why))
}

/// Whether `there`, which the remote has for `branch`, has `commit`: another push may have gone on from it already.
/// That the remote has it is noted where `branch` is the workspace's own.
pub(super) async fn has(
    workspace: &Arc<Workspace>,
    branch: &BranchName,
    there: &CommitId,
    commit: ObjectId,
) -> Result<bool, Error> {
    let (is_own, there) = (branch == workspace.branch(), git::object_id(there)?);
    workspace
        .blocking(move |this| {
            let store = this.repo().open_store()?;
            let has_it = git::is_ancestor(&store, commit, there)?;
            if has_it && is_own {
                Seen(&this.branch().dir()).settle(&store, commit)?;
            }
            Ok(has_it)
        })
        .await
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
