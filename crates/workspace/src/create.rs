//! Making a workspace: registered under the repo's registry lock, filled outside it, and taken back whole if
//! that fails. What a crash left of an earlier attempt is cleared first.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::{branch_not_found, conflict};
use super::record::Record;
use super::{Error, Report, Reporter, Workspace};
use crate::settle::Stragglers;
use crate::{fill, fits, half_made, included, removal, settle, standing, warm};
use branchyard_config::crash_point;
use branchyard_git as git;
use branchyard_model::{CommitId, NamedRef, Phase};
use branchyard_process::who_is_in;
use branchyard_runtime::disk::spread;
use branchyard_runtime::yard_events::WorkspaceChange;

/// How long the git of a daemon that was killed is waited for, and how often it is looked at: it is
/// nobody's child by then.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(30);
const ORPHAN_POLL: Duration = Duration::from_millis(20);

/// Makes the workspace at the remote's head, or at the branch that only we have. The caller holds
/// the files.
pub(super) async fn create(
    workspace: &Arc<Workspace>,
    cold: bool,
    report: &Reporter,
) -> Result<(), Error> {
    let remote = standing::remote_tip(workspace).await?;
    let local = standing::local_tip(workspace).await?;
    let start = match (&remote, &local) {
        (Some(head), _) => head.clone(),
        // Was only ever here, and was kept when its workspace went.
        (None, Some(local)) => local.clone(),
        (None, None) => return Err(branch_not_found(workspace.branch()).into()),
    };
    if let Some(head) = &remote {
        standing::begin_move(workspace, head).await?;
    }
    crash_point("create-asked");
    // Beside what is no branch of the remote, there may be any branch.
    let is_branch = NamedRef::of(workspace.branch()).is_none();
    let on_remote = remote.is_some() && is_branch;
    let fresh = make(workspace, &start, on_remote, cold, report).await?;
    match remote {
        // A branch that is at the remote's head is no different from a new one.
        Some(head) if fresh || local.as_ref() == Some(&head) => {
            standing::finish_move(workspace, &head).await?;
        }
        // The files are those of the branch that was here: nothing was moved to the remote's.
        Some(_) => standing::abandon_move(workspace).await?,
        None => {}
    }
    settle::settle(workspace, Stragglers::Told, report).await
}

/// Makes the workspace at a commit of a branch that the remote need not have. Returns whether the branch was new here.
pub(super) async fn make_at(
    workspace: &Arc<Workspace>,
    start: &CommitId,
    report: &Reporter,
) -> Result<bool, Error> {
    make(workspace, start, false, false, report).await
}

/// Registers the worktree at `start` and writes its files, not from a sibling if it is `cold`. What an attempt
/// that failed made is taken away at once: most likely the disk is full, and that is what filled it. Returns
/// whether the branch was new here.
async fn make(
    workspace: &Arc<Workspace>,
    start: &CommitId,
    on_remote: bool,
    cold: bool,
    report: &Reporter,
) -> Result<bool, Error> {
    fits::check_fits(workspace, start).await?;
    spread(workspace.repo().home());
    let fresh = register(workspace, start, on_remote, report).await?;
    crash_point("create-registered");
    let filled = match cold {
        true => fill::fill(workspace, report).await,
        false => warm::fill_from_nearest(workspace, report).await,
    };
    let Err(error) = filled else {
        crash_point("create-filled");
        included::bring_into_new(workspace, report).await;
        workspace.tell(WorkspaceChange::Created);
        return Ok(fresh);
    };
    {
        let _registry = workspace.repo().registry().lock().await;
        unmake(workspace, start, fresh).await;
    }
    // On its way out git may have given back what it took, and so hidden what it failed of.
    fits::would_fit(workspace, start).await?;
    Err(error)
}

/// Takes a half-made workspace away, and the branch if that was made for it. The caller holds the
/// registry lock; what fails here, the next request does.
async fn unmake(workspace: &Arc<Workspace>, start: &CommitId, fresh: bool) {
    let start = start.clone();
    let unmade = workspace
        .blocking(move |this| {
            if this.worktree().is_preparing() {
                half_made::take_half_made(this)?;
                this.worktree().forget()?;
            }
            if fresh {
                let (store, branch) = (this.repo().open_store()?, this.branch().local_ref());
                git::delete_ref_at(&store, &branch, start.as_str())?;
            }
            Ok(())
        })
        .await;
    if let Err(error) = unmade {
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "a half-made workspace stays");
    }
}

/// Registers the worktree under the repo's registry lock; files come later, without that lock.
/// Returns whether the branch was new here.
async fn register(
    workspace: &Arc<Workspace>,
    start: &CommitId,
    on_remote: bool,
    report: &Reporter,
) -> Result<bool, Error> {
    report(Report::Phase(Phase::Worktree, None));
    wait_for_orphan(workspace).await?;
    let _registry = workspace.repo().registry().lock().await;
    workspace.repo().guard_store()?;
    workspace
        .blocking(move |this| {
            make_room(this, on_remote)?;
            clear_leftovers(this)?;
            check_nobody_has_it(this)?;
            // A parked branch whose workspace is gone comes back as the branch that it was.
            let store = this.repo().open_store()?;
            Ok(git::unpark_branch(&store, this.branch())?)
        })
        .await?;
    let exists = standing::local_tip(workspace).await?.is_some();
    let (git, store) = (workspace.repo().git(), workspace.repo().store());
    let mut added = workspace.worktree().add(git, store, start, exists).await;
    let own = std::slice::from_ref(workspace.branch());
    if added.is_err() && workspace.repo().clear_stale_locks(own).await? {
        // What the first attempt left is half made, and ours.
        workspace.blocking(clear_leftovers).await?;
        added = workspace.worktree().add(git, store, start, exists).await;
    }
    let registered = added.map_err(Error::from).and_then(|()| {
        let (tick, inode) = (workspace.yard().ticks.now(), workspace.worktree().inode());
        Record::of_new(workspace.branch().clone(), tick, inode)
            .save(workspace.worktree().admin())
            .map_err(Error::io("record the workspace"))
    });
    match &registered {
        Ok(()) => workspace.yard().made.notify_one(),
        Err(_) => unmake(workspace, start, !exists).await,
    }
    registered.map(|()| !exists)
}

/// The git of a daemon that was killed may still be writing into what it left half made, and would
/// go on in what is made in its place.
async fn wait_for_orphan(workspace: &Arc<Workspace>) -> Result<(), Error> {
    let patience = Instant::now() + ORPHAN_PATIENCE;
    while workspace.worktree().is_preparing() {
        let orphan = workspace.blocking(|this| Ok(who_is_in(this.path())));
        let Some(pid) = orphan.await? else {
            return Ok(());
        };
        if Instant::now() >= patience {
            let detail = format!(
                "process {pid} is still at work in what an earlier daemon left of the workspace of {}",
                workspace.branch()
            );
            return Err(conflict("workspace_in_use", detail)
                .field("branch")
                .help("ask again when it has ended")
                .into());
        }
        tokio::time::sleep(ORPHAN_POLL).await;
    }
    Ok(())
}

/// Parks local branches that cannot stand beside this one. Where the remote has this branch, it
/// cannot have those; where it has not, they come first.
pub(super) fn make_room(workspace: &Workspace, on_remote: bool) -> Result<(), Error> {
    let store = workspace.repo().open_store()?;
    for other in git::colliding_refs(&store, "refs/heads/", workspace.branch())? {
        let collides = |why: &str| {
            let own = workspace.branch();
            let detail = format!("{own} cannot exist beside the branch {other}{why}");
            conflict("branch_collides", detail).field("branch")
        };
        if !on_remote {
            return Err(collides("").into());
        }
        let worktrees = workspace.repo().store().path().join("worktrees");
        let admin = worktrees.join(other.dir().as_str());
        if !git::park(&store, &other, &admin)? {
            return Err(collides(", whose workspace is not on its branch just now").into());
        }
        tracing::info!(repo = %workspace.repo().name(), branch = %other, "parked: gone upstream");
    }
    Ok(())
}

/// Git has a branch in one worktree at a time; somebody may have gone to this one in another's.
pub(super) fn check_nobody_has_it(workspace: &Workspace) -> Result<(), Error> {
    let on_it = format!("ref: {}\n", workspace.branch().local_ref());
    let others = fs::read_dir(workspace.repo().store().path().join("worktrees"));
    for other in others.into_iter().flatten().flatten() {
        if fs::read_to_string(other.path().join("HEAD")).is_ok_and(|head| head == on_it) {
            let (branch, place) = (workspace.branch(), other.file_name());
            let place = place.to_string_lossy();
            let detail = format!("{branch} is checked out in the workspace {place}");
            return Err(conflict("branch_in_use", detail)
                .field("branch")
                .help("have that workspace go back to its own branch, and ask again")
                .into());
        }
    }
    Ok(())
}

/// Takes away what a crash left of an earlier attempt. Anything else that stands here is not ours
/// to touch.
fn clear_leftovers(workspace: &Workspace) -> Result<(), Error> {
    let path = workspace.worktree().path();
    removal::converge(workspace)?;
    if workspace.worktree().is_preparing() {
        half_made::take_half_made(workspace)?;
        workspace.worktree().forget()?;
    }
    if path.symlink_metadata().is_ok() {
        let place = path.display();
        let detail = format!("{place} is in the way and was not made by the yard");
        return Err(conflict("path_occupied", detail)
            .help("look at it, move it elsewhere, and ask again")
            .into());
    }
    // The directory was deleted or moved by hand; the branch and its commits are still here.
    let store = workspace.repo().open_store()?;
    if workspace.worktree().set_aside(&store)? {
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), "a workspace's directory was gone; git's files about it are set aside");
    }
    Ok(())
}
