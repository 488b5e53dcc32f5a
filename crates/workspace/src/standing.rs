//! What a workspace is about, where its branch stands, and whose it is. Nothing of it is changed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::error::conflict;
use super::{Error, Workspace};
use crate::submodules;
use branchyard_git::{self as git, Head, Repository, Seen};
use branchyard_model::{About, CommitId, Problem};
use branchyard_process::Captured;

/// What the workspace is about as it stands; nothing is asked, nothing moves.
pub async fn about(workspace: &Arc<Workspace>) -> Result<About, Error> {
    workspace
        .looking(|this| {
            let repo = this.worktree().open()?;
            let dirty = submodules::tracked_changes(this, &repo)?;
            standing(this, &repo, Some(dirty))
        })
        .await
}

/// Whether HEAD is at `commit`.
pub async fn is_at(workspace: &Arc<Workspace>, commit: &CommitId) -> Result<bool, Error> {
    match workspace.worktree().is_plainly_at(commit) {
        true => Ok(true),
        false => Ok(self::commit(workspace).await?.as_ref() == Some(commit)),
    }
}

/// The commit that HEAD is at; none on a branch without one. No object is read for it.
async fn commit(workspace: &Arc<Workspace>) -> Result<Option<CommitId>, Error> {
    workspace
        .looking(|this| {
            let head = git::read_ref(&this.worktree().open()?, "HEAD")?;
            Ok(head.map(git::commit_id).transpose()?)
        })
        .await
}

/// Runs a git command that only reads. The caller shares the files.
pub async fn git_read(
    workspace: &Workspace,
    args: &[String],
    max: usize,
    patience: Duration,
) -> Result<Captured, Error> {
    let command = workspace
        .repo()
        .git()
        .in_worktree(workspace.path())
        .args(args)
        .read_only(patience);
    Ok(command.capture(max, |_| {}).await?)
}

/// `dirty` is given by whoever looked; a look at the whole tree is not for every read.
pub(super) fn standing(
    workspace: &Workspace,
    repo: &Repository,
    dirty: Option<bool>,
) -> Result<About, Error> {
    let mut about = git::standing(repo, workspace.branch(), dirty)?;
    about.fetched_at = workspace.record().and_then(|record| record.fetched_at);
    Ok(about)
}

/// HEAD must be on the workspace's own branch; a rebase of that branch, and a parked workspace,
/// have it detached for good reason.
pub(super) fn check_head(
    workspace: &Workspace,
    repo: &Repository,
    head: &Head,
) -> Result<(), Error> {
    let at_home = head.branch.as_deref() == Some(workspace.branch().as_str())
        || git::rebased_branch(workspace.worktree().admin()).as_deref()
            == Some(workspace.branch().local_ref().as_str())
        || (head.branch.is_none() && git::parked_tip(repo, &workspace.branch().dir())?.is_some());
    if at_home {
        return Ok(());
    }
    let now_on = head.branch.as_deref().unwrap_or("a detached commit");
    Err(drifted(workspace, now_on).into())
}

pub(super) fn drifted(workspace: &Workspace, now_on: &str) -> Problem {
    let detail = format!(
        "the workspace of {} was moved to {now_on} by hand",
        workspace.branch()
    );
    conflict("drifted", detail).field("branch").help(format!(
        "move it back with `git -C {} checkout {}`",
        workspace.path().display(),
        workspace.branch()
    ))
}

/// The directory must be the one that was made for this very branch.
pub(super) fn check_owner(workspace: &Workspace) -> Result<(), Error> {
    match workspace.record() {
        Some(record) if record.branch != *workspace.branch() => {
            let detail = format!(
                "{} belongs to the branch {}",
                workspace.path().display(),
                record.branch
            );
            Err(conflict("path_occupied", detail).into())
        }
        Some(_) => Ok(()),
        None => Err(Error::io("read the workspace's record")(
            io::ErrorKind::NotFound.into(),
        )),
    }
}

pub(super) async fn local_tip(workspace: &Arc<Workspace>) -> Result<Option<CommitId>, Error> {
    store_ref(workspace, workspace.branch().local_ref()).await
}

/// Where the remote stood when it was last fetched.
pub async fn remote_tip(workspace: &Arc<Workspace>) -> Result<Option<CommitId>, Error> {
    store_ref(workspace, workspace.branch().remote_ref()).await
}

async fn store_ref(workspace: &Arc<Workspace>, name: String) -> Result<Option<CommitId>, Error> {
    workspace
        .blocking(move |this| {
            let id = git::read_ref(&this.repo().open_store()?, &name)?;
            Ok(id.and_then(|id| git::commit_id(id).ok()))
        })
        .await
}

/// Writes down that files are about to be moved to what the remote was seen to have.
pub(super) async fn begin_move(workspace: &Arc<Workspace>, to: &CommitId) -> Result<(), Error> {
    let to = git::object_id(to)?;
    seen(workspace, move |seen, store| seen.begin_move(store, to)).await
}

/// Writes down that they were.
pub(super) async fn finish_move(workspace: &Arc<Workspace>, to: &CommitId) -> Result<(), Error> {
    let to = git::object_id(to)?;
    seen(workspace, move |seen, store| seen.finish_move(store, to)).await
}

/// Writes down that they stay where they were.
pub(super) async fn abandon_move(workspace: &Arc<Workspace>) -> Result<(), Error> {
    seen(workspace, |seen, store| seen.abandon_move(store)).await
}

async fn seen(
    workspace: &Arc<Workspace>,
    change: impl FnOnce(Seen<'_>, &Repository) -> Result<(), git::Error> + Send + 'static,
) -> Result<(), Error> {
    workspace
        .blocking(move |this| {
            let store = this.repo().open_store()?;
            Ok(change(Seen(&this.branch().dir()), &store)?)
        })
        .await
}
