//! Removing a workspace. It goes only if nobody would miss anything in it, or, by force, once that was
//! saved. It is renamed into the trash, which is instant, and deleted later.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::{conflict, no_workspace};
use super::salvage::SalvageScope;
use super::{Error, Workspace, Workspaces, silent};
use crate::repos::Repo;
use crate::scratch::is_scratch;
use crate::{guard, pin, recover, removal, reset, salvage, work};
use branchyard_config::crash_point;
use branchyard_git::{self as git};
use branchyard_model::{Problem, Salvage, SalvageReason};
use branchyard_process::who_is_in;
use branchyard_runtime::disk::{Moment, if_there};
use branchyard_runtime::yard_events::WorkspaceChange;

/// How long processes in a workspace are waited for, and how often that is looked at: there is nothing
/// to be woken by.
const PATIENCE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(50);
/// Longer than a command is given to end; after that, something keeps it.
const ENDED_WITHIN: Duration = Duration::from_secs(60);

/// What is to become of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Going {
    /// A workspace with work in it stays.
    Unmissed,
    /// Work is saved, and the workspace goes.
    Forced,
}

/// Takes the workspace away, with its lock held by the caller; its files are deleted later. Returns
/// what was saved of it.
pub async fn remove(
    workspace: &Arc<Workspace>,
    going: Going,
    by: &str,
) -> Result<Option<Salvage>, Error> {
    end_helpers(workspace, going).await?;
    let once = || remove_once(workspace, going, by);
    recover::retried(workspace, &silent(), once).await
}

async fn remove_once(
    workspace: &Arc<Workspace>,
    going: Going,
    by: &str,
) -> Result<Option<Salvage>, Error> {
    wait_until_left(workspace).await?;
    let (this, by) = (workspace.clone(), by.to_owned());
    workspace
        .uninterrupted(async move {
            let _files = this.files().lock().await;
            if !this.exists() {
                return Err(no_workspace(this.branch()).into());
            }
            let _registry = this.repo().registry().lock().await;
            this.blocking(move |this| {
                guard::guard(this, &silent())?;
                take_away(this, going, &by)
            })
            .await
        })
        .await
}

/// Ends the commands that are at work there in the background, unless the workspace stays anyway.
async fn end_helpers(workspace: &Arc<Workspace>, going: Going) -> Result<(), Error> {
    if workspace.helpers().first().is_none() {
        return Ok(());
    }
    if going == Going::Unmissed {
        if let Some(pin) = pin::pinned(workspace) {
            return Err(pin::refuse_pinned(workspace, &pin).into());
        }
        let work = work::reasons_to_stay(workspace).await?;
        if !work.is_empty() {
            return Err(stays(workspace, &work).into());
        }
    }
    let ended = workspace.helpers().end("its workspace is removed");
    match tokio::time::timeout(ENDED_WITHIN, ended).await {
        Ok(()) => Ok(()),
        Err(_) => check_no_helper(workspace),
    }
}

/// Refuses what is not done while a command is at work there in the background.
pub(super) fn check_no_helper(workspace: &Workspace) -> Result<(), Error> {
    let Some(run) = workspace.helpers().first() else {
        return Ok(());
    };
    let detail = format!(
        "run {run} is at work in the workspace of {}, in the background",
        workspace.branch()
    );
    Err(conflict("workspace_in_use", detail)
        .field("branch")
        .help("cancel that run, and ask again when it has ended")
        .into())
}

fn stays(workspace: &Workspace, work: &[String]) -> Problem {
    salvage::has_work(workspace, work)
        .help("commit and push it, or remove the workspace with `?force=true` (`--force`), which saves it as a salvage; declare build output in `build_output`")
}

/// A person's command may be about to end there, and is given a moment.
pub(super) async fn wait_until_left(workspace: &Arc<Workspace>) -> Result<(), Error> {
    let patience = Instant::now() + PATIENCE;
    while workspace
        .blocking(|this| Ok(who_is_in(this.path()).is_some()))
        .await?
        && Instant::now() < patience
    {
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}

/// Takes the workspace, which exists, out of sight. The caller holds the workspace, its files and the registry.
pub(super) fn take_away(
    workspace: &Workspace,
    going: Going,
    by: &str,
) -> Result<Option<Salvage>, Error> {
    if going == Going::Unmissed
        && let Some(pin) = pin::pinned(workspace)
    {
        return Err(pin::refuse_pinned(workspace, &pin).into());
    }
    let looked_at = Moment::now();
    let repo = workspace.worktree().open()?;
    let tip = git::read_ref(&repo, &workspace.branch().local_ref())?;
    let (mut work, belongings) = salvage::at_stake(workspace, &repo)?;
    if !work.is_empty() && going == Going::Unmissed {
        return Err(stays(workspace, &work).into());
    }
    if let Some(pid) = who_is_in(workspace.path()) {
        let detail = format!(
            "process {pid} has its working directory or an open file in the workspace of {}",
            workspace.branch()
        );
        return Err(conflict("workspace_in_use", detail)
            .field("branch")
            .help("end that process, or have it leave the directory")
            .into());
    }
    for dir in [workspace.path(), workspace.worktree().admin()] {
        workspace.yard().trash.check(dir).map_err(|error| {
            reset::cannot_discard(workspace, "move the workspace to the trash", error)
        })?;
    }
    // These pin nothing, but somebody might want them back.
    work.extend(belongings.shown_output());
    let left = git::left_behind(workspace.worktree())?;
    if left > 0 {
        work.push(format!("{left} commit(s) that were left behind here"));
    }
    let (has_work, scope, reason) = (!work.is_empty(), SalvageScope::All, SalvageReason::Remove);
    let save = || salvage::salvage(workspace, work, &belongings, scope, reason, by);
    let saved = has_work.then(save).transpose()?;
    crash_point("remove-saved");
    workspace.worktree().mark_removing(tip)?;
    crash_point("remove-marked");
    let (trash, dir) = (&workspace.yard().trash, workspace.branch().dir());
    if let Err(error) = trash.take_seen(workspace.path(), &dir, looked_at) {
        workspace.worktree().unmark_removing()?;
        return Err(Error::io("move the workspace to the trash")(error));
    }
    crash_point("remove-moved");
    removal::finish(workspace, Some(looked_at))?;
    workspace.tell(WorkspaceChange::Removed);
    Ok(saved)
}

/// What is left of a repo that somebody could miss; empty if it may go.
pub fn left_of(workspaces: &Workspaces, repo: &Repo) -> Result<Vec<String>, Error> {
    let mut left = Vec::new();
    let unread = || Error::io("look through the repository's directory");
    let entries = if_there(fs::read_dir(repo.home())).map_err(unread())?;
    for entry in entries.into_iter().flatten() {
        let entry = entry.map_err(unread())?;
        // Whatever bytes its name has.
        left.push(entry.file_name().to_string_lossy().into_owned());
    }
    left.retain(|name| name != ".git" && !is_scratch(name));
    if workspaces.scratch().is_any_used(repo.name()) {
        left.push("a job at work".to_owned());
    }
    if repo.is_cloned() {
        left.extend(git::unpushed_refs(&repo.open_store()?)?);
    }
    Ok(left)
}

/// Moves a repo's directory to the trash, unless a job is at work in it.
pub fn discard(workspaces: &Workspaces, repo: &Repo) -> Result<(), Error> {
    let discarded = workspaces
        .scratch()
        .while_none_is_used(repo.name(), || take_home(workspaces, repo.home()));
    discarded.unwrap_or_else(|| {
        let detail = format!("a job is at work in a scratch worktree of {}", repo.name());
        Err(conflict("repo_in_use", detail).into())
    })
}

fn take_home(workspaces: &Workspaces, home: &Path) -> Result<(), Error> {
    if !home.exists() {
        return Ok(());
    }
    let name = home.file_name().unwrap_or_default().to_string_lossy();
    let taken = workspaces.yard().trash.take(home, &name);
    taken.map_err(Error::io("move the repository to the trash"))
}
