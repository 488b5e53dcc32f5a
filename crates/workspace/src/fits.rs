//! Does a checkout fit on the disk? One that does not is refused before it begins: cut off in the middle
//! it would take what the builds beside it need, and leave files that are neither the old nor the new.

use std::sync::Arc;

use super::{Error, Workspace};
use crate::repos::Repo;
use crate::room::check_room;
use branchyard_git as git;
use branchyard_git::{DetachedWorktree, object_id};
use branchyard_model::CommitId;
use branchyard_runtime::disk::{Amount, Room};

/// With more room than this nobody counts beforehand what a checkout takes.
const PLENTY: Amount = Amount {
    bytes: 1 << 30,
    inodes: 50_000,
};

/// Refuses a checkout of `target` that does not fit, where there is not plenty of room.
pub(super) async fn check_fits(workspace: &Arc<Workspace>, target: &CommitId) -> Result<(), Error> {
    let goal = object_id(target)?;
    let extent = workspace.blocking(move |this| {
        let store = this.repo().open_store()?;
        // Where HEAD is nowhere, all of the target counts.
        let head = this.worktree().open().and_then(|repo| git::head(&repo));
        let from = head.ok().map(|head| head.tree);
        Ok(git::check_checkout(&store, from, goal)?)
    });
    extent.await?;
    match Room::of(workspace.repo().home()) {
        Ok(room) if room.less_than(PLENTY).is_some() => would_fit(workspace, target).await,
        // Where the room cannot be told, git finds out.
        _ => Ok(()),
    }
}

/// Whether there is plenty of room even beside so much more. What is only to save time is not worth less.
pub(super) fn has_plenty_beside(repo: &Repo, more: Amount) -> bool {
    let wanted = Amount {
        bytes: PLENTY.bytes + more.bytes,
        inodes: PLENTY.inodes + more.inodes,
    };
    Room::of(repo.home()).is_ok_and(|room| room.less_than(wanted).is_none())
}

/// An error if a checkout of `target` does not fit.
pub(super) async fn would_fit(workspace: &Arc<Workspace>, target: &CommitId) -> Result<(), Error> {
    let target = target.clone();
    workspace
        .blocking(move |this| {
            let from = match this.exists() {
                true => Some(git::head(&this.worktree().open()?)?.commit),
                false => None,
            };
            let store = this.repo().open_store()?;
            let need = git::checkout_need(&store, from, object_id(&target)?)?;
            check_room(this.repo(), &target, need)
        })
        .await
}

/// The same as [`check_fits`] for a detached worktree, whose extent is checked elsewhere. Blocks.
pub(super) fn check_detached(
    repo: &Repo,
    worktree: &DetachedWorktree,
    target: &CommitId,
) -> Result<(), Error> {
    match Room::of(repo.home()) {
        Ok(room) if room.less_than(PLENTY).is_some() => {
            let need = worktree.need(target)?;
            check_room(repo, target, need)
        }
        _ => Ok(()),
    }
}
