//! The end of a removal, which also completes one that was cut off.
//!
//! A mark in git's registration says that it is going. After a crash, a marked workspace whose
//! directory is still there stays, for it was never moved; of one whose directory is gone, the rest goes.

use crate::{Error, Workspace};
use branchyard_config::crash_point;
use branchyard_git::{self as git, Seen};
use branchyard_model::NamedRef;
use branchyard_runtime::disk::Moment;

/// What is left to do once the directory is gone. Its commits are known to the remote, or saved, as far as they were
/// there at `looked_at`, which is not known any more after a crash.
pub(crate) fn finish(workspace: &Workspace, looked_at: Option<Moment>) -> Result<(), Error> {
    let store = workspace.repo().open_store()?;
    let branch = workspace.branch().local_ref();
    // Moved by somebody since, it is not what was decided on.
    if let Some(marked) = workspace.worktree().removing_from() {
        git::delete_ref_at(&store, &branch, &marked)?;
    }
    crash_point("remove-unnamed");
    git::forget_parked(&store, workspace.branch())?;
    Seen(&workspace.branch().dir()).forget(&store)?;
    if NamedRef::of(workspace.branch()).is_some() {
        // No list of the remote's branches says that it is gone.
        git::delete_ref(&store, &workspace.branch().remote_ref())?;
    }
    let (trash, admin) = (&workspace.yard().trash, workspace.worktree().admin());
    let name = format!("{}-admin", workspace.branch().dir());
    let taken = match looked_at {
        Some(looked_at) => {
            workspace.worktree().drop_own_files()?;
            trash.take_seen(admin, &name, looked_at)
        }
        None => trash.take(admin, &name),
    };
    taken.map_err(Error::io("forget the worktree"))
}

/// After a crash in the middle of a removal: completes it, or calls it off. Returns whether there
/// was one. Nobody else may use the workspace meanwhile.
pub(crate) fn converge(workspace: &Workspace) -> Result<bool, Error> {
    if !workspace.worktree().is_removing() {
        return Ok(false);
    }
    if workspace.path().exists() {
        workspace.worktree().unmark_removing()?;
    } else {
        finish(workspace, None)?;
    }
    Ok(true)
}
