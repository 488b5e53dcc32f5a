//! Deleting a branch with its workspace, and giving it another name.

use std::sync::Arc;
use std::time::Instant;

use crate::error::{check_is_branch, conflict};
use crate::repos::remote;
use crate::salvage::SalvageScope;
use crate::{
    Error, Going, Reporter, Workspace, WorkspaceLock, create, prepare, remove, restore, salvage,
    work,
};
use branchyard_git as git;
use branchyard_git::verbs::{branch, operation_under_way};
use branchyard_model::{BranchName, Salvage, SalvageId, SalvageReason};
use branchyard_process::who_is_in;

/// Deletes the branch here, and its workspace where it has one. One with commits or work of its own
/// stays, unless that is to be saved and it is to go by force. The caller holds the workspace's lock.
pub async fn delete_branch(
    workspace: &Arc<Workspace>,
    force: bool,
    by: &str,
    report: &Reporter,
) -> Result<Option<Salvage>, Error> {
    let unmerged = workspace
        .blocking(|this| Ok(branch::unmerged(&this.repo().open_store()?, this.branch())?))
        .await?;
    if unmerged > 0 && !force {
        let detail = format!(
            "{} has {unmerged} commit(s) that neither the remote nor another branch has",
            workspace.branch()
        );
        return Err(conflict("unmerged", detail)
            .field("name")
            .help("push or merge them, or give `force: true`, which saves them first")
            .into());
    }
    if !workspace.exists() && unmerged > 0 {
        // Only a workspace can be saved.
        drop(prepare::ensure(workspace, Instant::now(), report).await?);
    }
    if workspace.exists() {
        let going = match force {
            true => Going::Forced,
            false => Going::Unmissed,
        };
        return remove::remove(workspace, going, by).await;
    }
    delete_ref_only(workspace).await.map(|()| None)
}

async fn delete_ref_only(workspace: &Arc<Workspace>) -> Result<(), Error> {
    let this = workspace.clone();
    workspace
        .uninterrupted(async move {
            let _registry = this.repo().registry().lock().await;
            this.blocking(|this| {
                create::check_nobody_has_it(this)?;
                let store = this.repo().open_store()?;
                Ok(git::delete_ref(&store, &this.branch().local_ref())?)
            })
            .await
        })
        .await
}

/// Gives the branch another name: `new` gets its commits and all work, then this workspace goes.
/// Returns what was saved of it on the way.
pub async fn rename_to(
    workspace: &Arc<Workspace>,
    new: &Arc<Workspace>,
    turns: [WorkspaceLock; 2],
    by: &str,
    report: &Reporter,
) -> Result<Option<Salvage>, Error> {
    drop(prepare::ensure(workspace, Instant::now(), report).await?);
    remove::check_no_helper(workspace)?;
    check_free(workspace, new).await?;
    remove::wait_until_left(workspace).await?;
    let (this, new, by, report) = (
        workspace.clone(),
        new.clone(),
        by.to_owned(),
        report.clone(),
    );
    workspace
        .uninterrupted(async move {
            let _turns = turns;
            let copy = copy_of_all(&this, &by).await?;
            restore::restore(&new, copy, false, &by, &report).await?;
            let saved = remove::remove(&this, Going::Forced, &by).await?;
            // All of it is in the new workspace, and what is work in the other salvage.
            this.blocking(move |this| {
                Ok(git::forget_salvage(
                    &this.repo().open_store()?,
                    copy,
                    &this.yard().archives,
                )?)
            })
            .await?;
            Ok(saved)
        })
        .await
}

/// The new name must be nobody's, and the old workspace one that can go.
async fn check_free(workspace: &Arc<Workspace>, new: &Arc<Workspace>) -> Result<(), Error> {
    let taken = |branch: &BranchName, place: &str| {
        conflict("branch_exists", format!("{branch} already exists {place}"))
            .field("new_name")
            .help("choose another name")
    };
    if workspace.branch().collides_with(new.branch().as_str()) {
        let detail = format!(
            "{} and {} cannot stand beside each other",
            workspace.branch(),
            new.branch()
        );
        return Err(conflict("branch_collides", detail).field("new_name").into());
    }
    if new.exists() || restore::is_known(new).await? {
        return Err(taken(new.branch(), "in the yard").into());
    }
    check_is_branch(new.branch()).map_err(|problem| problem.field("new_name"))?;
    let asked = remote::ask(workspace.repo(), new.branch(), Instant::now()).await?;
    if asked.head.is_some() {
        return Err(taken(new.branch(), "on the remote").into());
    }
    workspace
        .blocking(|this| {
            let repo = this.worktree().open()?;
            // It is under way under the old name, and would end with it.
            if let Some(operation) = git::head(&repo)?.operation {
                return Err(operation_under_way(operation).field("name").into());
            }
            if !work::stashes(this, &repo).is_empty() {
                let detail = format!("{} has stashes, which carry its name", this.branch());
                return Err(conflict("has_stashes", detail)
                    .field("name")
                    .help("pop or drop them first with git_stash")
                    .into());
            }
            match who_is_in(this.path()) {
                None => Ok(()),
                Some(pid) => {
                    let detail = format!(
                        "process {pid} is at work in the workspace of {}",
                        this.branch()
                    );
                    Err(conflict("workspace_in_use", detail)
                        .field("name")
                        .help("end that process, or have it leave the directory")
                        .into())
                }
            }
        })
        .await
}

async fn copy_of_all(workspace: &Arc<Workspace>, by: &str) -> Result<SalvageId, Error> {
    let by = by.to_owned();
    let _files = workspace.files().lock().await;
    workspace
        .blocking(move |this| {
            let (mut work, belongings) = salvage::at_stake(this, &this.worktree().open()?)?;
            work.push("all of it, for another name".to_owned());
            let reason = SalvageReason::Rename;
            Ok(salvage::salvage(this, work, &belongings, SalvageScope::All, reason, &by)?.id)
        })
        .await
}
