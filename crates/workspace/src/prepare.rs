//! A workspace for whoever asks: found, or made where there is none, at a branch of the remote or at a
//! new one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::{branch_not_found, check_is_branch, conflict};
use super::record::Record;
use super::{Error, Report, Reporter, Workspace};
use crate::repos::{Asked, heal, remote};
use crate::settle::Stragglers;
use crate::{FilesGuard, create, guard, recover, settle, standing};
use branchyard_git::{self as git, object_id};
use branchyard_model::{BranchName, CommitId};

/// How long those who only looked in are given to let go of the files.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// Makes the workspace unless it exists, and shares its files. Only a missing workspace costs a
/// question to the remote, asked no earlier than `not_before`.
pub async fn ensure(
    workspace: &Arc<Workspace>,
    not_before: Instant,
    report: &Reporter,
) -> Result<FilesGuard, Error> {
    let once = || ensure_once(workspace, not_before, false, report);
    recover::retried(workspace, report, once).await
}

/// The same, once; `cold` keeps a new workspace from being made from a sibling.
pub(super) async fn ensure_once(
    workspace: &Arc<Workspace>,
    not_before: Instant,
    cold: bool,
    report: &Reporter,
) -> Result<FilesGuard, Error> {
    find_again(workspace, report).await?;
    let files_guard = workspace.share_files().await;
    if workspace.exists() {
        standing::check_owner(workspace)?;
        guard::guard(workspace, report)?;
        workspace.note_read();
        return Ok(files_guard);
    }
    drop(files_guard);
    let asked = remote::ask_lately(workspace.repo(), workspace.branch(), not_before).await?;
    if asked.head.is_none() && !workspace.repo().is_cloned() {
        return Err(branch_not_found(workspace.branch()).into());
    }
    bring(workspace, &asked, report).await?;
    if heal::is_suspect(workspace.repo()) {
        // What was left of a store was found on the way, and nobody knows what is missing in it.
        recover::heal(workspace, report).await?;
    }
    let (this, report) = (workspace.clone(), report.clone());
    workspace
        .uninterrupted(async move {
            loop {
                if let Some(files_guard) = this.files().try_lock() {
                    if !this.exists() {
                        register_found(&this, &report).await?;
                    }
                    if !this.exists() {
                        create::create(&this, cold, &report).await?;
                        this.note(|record| record.fetched_at = Some(asked.at))?;
                    }
                    return Ok(files_guard.downgrade());
                }
                // Others make it, or have made it and build there by now, which is not waited for.
                let files_guard = this.share_files().await;
                if this.exists() {
                    return Ok(files_guard);
                }
                drop(files_guard);
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        })
        .await
}

/// A workspace whose files are here, but whose registration is gone or broken, is one all the same.
pub(super) async fn find_again(workspace: &Arc<Workspace>, report: &Reporter) -> Result<(), Error> {
    let is_sound = !workspace.repo().is_cloned() || workspace.repo().packed_refs_are_sound()?;
    let is_locked = git::is_locked(
        workspace.repo().store(),
        workspace.branch(),
        workspace.worktree().admin(),
    );
    if is_lost(workspace) || !is_sound || is_locked {
        recover::mend_here(workspace, report).await?;
    }
    Ok(())
}

/// The same, once the store is there; the caller holds the files.
async fn register_found(workspace: &Arc<Workspace>, report: &Reporter) -> Result<(), Error> {
    if !is_lost(workspace) {
        return Ok(());
    }
    let _registry = workspace.repo().registry().lock().await;
    let (this, report) = (workspace.clone(), report.clone());
    workspace
        .blocking(move |_| recover::mend_and_tell(&this, &report).map(drop))
        .await
}

fn is_lost(workspace: &Workspace) -> bool {
    let admin = workspace.worktree().admin();
    // Without an index git would take every file for deleted, and find nothing wrong with that.
    let registered =
        workspace.exists() && Record::load(admin).is_some() && admin.join("index").is_file();
    !registered
        && workspace.repo().is_cloned()
        && workspace.worktree().has_directory()
        && !workspace.worktree().is_preparing()
        && !workspace.worktree().is_removing()
}

/// Whether a workspace for this branch can be made: the remote or the store has it.
pub async fn check_branch(workspace: &Arc<Workspace>, not_before: Instant) -> Result<(), Error> {
    match is_to_be_had(workspace, not_before).await? {
        true => Ok(()),
        false => Err(branch_not_found(workspace.branch()).into()),
    }
}

/// Whether the remote, asked no earlier than `not_before`, or the store has the branch.
pub async fn is_to_be_had(workspace: &Arc<Workspace>, not_before: Instant) -> Result<bool, Error> {
    let asked = remote::ask_lately(workspace.repo(), workspace.branch(), not_before).await?;
    Ok(asked.head.is_some()
        || (workspace.repo().is_cloned() && standing::local_tip(workspace).await?.is_some()))
}

/// Creates the branch at `start` and its workspace; the branch must be new to the remote and here.
pub async fn create_branch(
    workspace: &Arc<Workspace>,
    start: &str,
    report: &Reporter,
) -> Result<(), Error> {
    let once = || create_branch_once(workspace, start, report);
    recover::retried(workspace, report, once).await
}

async fn create_branch_once(
    workspace: &Arc<Workspace>,
    start: &str,
    report: &Reporter,
) -> Result<(), Error> {
    let taken = |branch: &BranchName, place: &str| {
        conflict("branch_exists", format!("{branch} already exists {place}"))
            .field("from")
            .help("leave out `from` to prepare the branch that exists")
    };
    check_is_branch(workspace.branch())?;
    let asked = remote::ask(workspace.repo(), workspace.branch(), Instant::now()).await?;
    if asked.head.is_some() {
        return Err(taken(workspace.branch(), "on the remote").into());
    }
    bring(workspace, &asked, report).await?;
    let commit = resolve_start(workspace, start, report).await?;
    let (this, report) = (workspace.clone(), report.clone());
    workspace
        .uninterrupted(async move {
            let _files = this.files().lock().await;
            if this.exists() || standing::local_tip(&this).await?.is_some() {
                return Err(taken(this.branch(), "in the yard").into());
            }
            create::make_at(&this, &commit, &report).await?;
            settle::settle(&this, Stragglers::Told, &report).await
        })
        .await
}

/// The commit that a new branch starts at: a branch of the remote, as it is there now, or a commit.
async fn resolve_start(
    workspace: &Arc<Workspace>,
    start: &str,
    report: &Reporter,
) -> Result<CommitId, Error> {
    if let Ok(commit) = CommitId::parse(start) {
        let require = move |this: &Workspace| {
            let store = this.repo().open_store()?;
            if git::has_commit(&store, object_id(&commit)?) {
                return Ok(commit);
            }
            let detail = format!("the commit {commit} is not in the repository");
            Err(conflict("commit_not_found", detail).field("from").into())
        };
        return workspace.blocking(require).await;
    }
    let branch = BranchName::parse(start).map_err(|problem| problem.field("from"))?;
    let asked = remote::ask(workspace.repo(), &branch, Instant::now()).await?;
    if let Some(head) = asked.head.clone() {
        let progress = |phase, percent| report(Report::Phase(phase, percent));
        remote::bring(workspace.repo(), &branch, &asked, &progress).await?;
        return Ok(head);
    }
    // Not pushed yet, but perhaps a branch of the yard.
    workspace
        .blocking(move |this| {
            let store = this.repo().open_store()?;
            git::read_ref(&store, &branch.local_ref())?
                .and_then(|id| git::commit_id(id).ok())
                .ok_or_else(|| branch_not_found(&branch).field("from").into())
        })
        .await
}

/// Has the store catch up with what the remote said, cloning first where need be.
pub(super) async fn bring(
    workspace: &Arc<Workspace>,
    asked: &Asked,
    report: &Reporter,
) -> Result<(), Error> {
    // Before the fetch, which would put things back without a word to whoever asked.
    if workspace.repo().is_cloned()
        && let Some(warning) = workspace.repo().guard_store()?
    {
        report(Report::Warning(warning));
    }
    let progress = |phase, percent| report(Report::Phase(phase, percent));
    Ok(remote::bring(workspace.repo(), workspace.branch(), asked, &progress).await?)
}
