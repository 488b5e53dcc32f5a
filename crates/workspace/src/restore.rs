//! Bringing a salvage back: into the workspace that it was saved from, or as a new branch.

use std::sync::Arc;

use super::error::conflict;
use super::salvage::{SalvageScope, find, no_salvage, tell, tell_news};
use super::{Error, Report, Reporter, Workspace};
use crate::settle::Stragglers;
use crate::{built_from, create, guard, reset, salvage, settle, standing, submodules};
use branchyard_git::{self as git, Saved, SavedStash, contents};
use branchyard_model::{CommitId, Problem, SalvageId, SalvageReason, Warning};
use branchyard_runtime::disk::Moment;
use branchyard_runtime::yard_events::SalvageChange;

/// Makes this workspace what the salvage holds, making it first where it is missing. With work in it,
/// that is saved first if `force` is given, else it stays as it is. The caller holds the workspace's lock.
pub async fn restore(
    workspace: &Arc<Workspace>,
    id: SalvageId,
    force: bool,
    by: &str,
    report: &Reporter,
) -> Result<(), Error> {
    let saved = workspace
        .blocking(move |this| {
            let saved = find(&this.repo().open_store()?, id)?.ok_or_else(|| no_salvage(id))?;
            match saved.lacks_archive(&this.yard().archives) {
                true => Err(no_archive(id).into()),
                false => Ok(saved),
            }
        })
        .await?;
    let (this, by, report) = (workspace.clone(), by.to_owned(), report.clone());
    workspace.uninterrupted(async move {
            let _files = this.files().lock().await;
            let is_its_own = saved.manifest.salvage().branch == *this.branch();
            if !is_its_own && (this.exists() || is_known(&this).await?) {
                let detail = format!("{} already exists", this.branch());
                return Err(conflict("branch_exists", detail)
                    .field("branch")
                    .help("give the name of a branch that is new, or none to restore into the branch that it was saved from")
                    .into());
            }
            let (looked_at, tip) = (Moment::now(), standing::local_tip(&this).await?);
            let made_at = match this.exists() {
                true => None,
                false => {
                    let made_at = make_for(&this, &saved, &report).await?;
                    fill_submodules(&this, &report).await;
                    made_at
                }
            };
            // What was filled just now is nobody's.
            let looked_at = match made_at {
                Some(_) => Moment::now(),
                None => looked_at,
            };
            if made_at.is_none() {
                // A branch that is here without its workspace may have commits of its own.
                clear_for(&this, force, looked_at, &by, &report).await?;
            }
            let tip = made_at.or(tip);
            let tip = tip.as_ref().map(git::object_id).transpose()?;
            let stashes = saved.manifest.stashes().to_owned();
            let salvage = saved.manifest.salvage().clone();
            this.blocking(move |this| {
                guard::guard(this, &super::silent())?;
                built_from::note_files_changed(this)?;
                let (trash, dir) = (&this.yard().trash, this.branch().dir());
                let discard = |path: &std::path::Path| trash.take_seen(path, &dir, looked_at);
                let archives = &this.yard().archives;
                Ok(git::put_back(&saved, this.worktree(), archives, tip, &discard)?)
            })
            .await?;
            restore_stashes(&this, &stashes).await?;
            this.blocking(submodules::forget).await?;
            fill_submodules(&this, &report).await;
            tell_news(this.repo(), &salvage, SalvageChange::Restored);
            this.note(|_| {})
        })
        .await
}

/// What comes back does not depend on it.
async fn fill_submodules(workspace: &Arc<Workspace>, report: &Reporter) {
    if let Err(error) = settle::settle(workspace, Stragglers::Told, report).await {
        let detail = format!("some submodules are not there: {error}");
        report(Report::Warning(Warning::new("submodules_empty", detail)));
    }
}

/// Whether the yard or the remote, as last seen, has a branch of this name.
pub(super) async fn is_known(workspace: &Arc<Workspace>) -> Result<bool, Error> {
    Ok(standing::local_tip(workspace).await?.is_some()
        || standing::remote_tip(workspace).await?.is_some())
}

async fn clear_for(
    workspace: &Arc<Workspace>,
    force: bool,
    looked_at: Moment,
    by: &str,
    report: &Reporter,
) -> Result<(), Error> {
    let by = by.to_owned();
    let saved = workspace
            .blocking(move |this| {
                let repo = this.worktree().open()?;
                let (mut work, belongings) = salvage::at_stake(this, &repo)?;
                if !work.is_empty() && !force {
                    return Err(salvage::has_work(this, &work)
                        .help("restore into a new branch with `branch` (`--branch NAME`), or give `force` (`--force`), which saves what is there first")
                        .into());
                }
                work.extend(belongings.shown_output());
                if work.is_empty() {
                    return Ok(None);
                }
                let saved =
                    salvage::salvage(this, work, &belongings, SalvageScope::All, SalvageReason::Restore, &by)?;
                let found = belongings.files.iter().chain(&belongings.repositories);
                let output = belongings.output.iter().filter(|output| !output.ignored);
                let paths = found.map(|found| &found.path);
                for path in paths.chain(output.map(|output| &output.item.path)) {
                    reset::discard(this, path, looked_at)?;
                }
                settle::discard_with_work(this, &belongings, looked_at)?;
                contents::forget_operation(this.worktree())?;
                Ok(Some(saved))
            })
            .await?;
    tell(report, saved.as_ref());
    Ok(())
}

/// Makes the workspace at the commit that was saved, without a question to the remote; or, where the
/// branch is here, at that. Returns where the branch was made, if it is new.
async fn make_for(
    workspace: &Arc<Workspace>,
    saved: &Saved,
    report: &Reporter,
) -> Result<Option<CommitId>, Error> {
    let start = match saved.manifest.start() {
        Some(commit) => Some(commit.clone()),
        // For a workspace whose HEAD had no commit: something to start from.
        None => standing::remote_tip(workspace).await?,
    };
    let detail = "the salvage holds no commit to start from";
    let start = start.ok_or_else(|| conflict("nothing_to_restore", detail))?;
    let is_new = create::make_at(workspace, &start, report).await?;
    Ok(is_new.then_some(start))
}

/// Stashes that were dropped meanwhile; the others are still there.
async fn restore_stashes(workspace: &Arc<Workspace>, stashes: &[SavedStash]) -> Result<(), Error> {
    let _registry = workspace.repo().registry().lock().await;
    let known = workspace.blocking(|this| Ok(git::stashes(&this.repo().open_store()?)));
    let (known, git) = (known.await?, workspace.repo().git());
    for stash in stashes.iter().rev() {
        let commit = git::object_id(&stash.commit)?;
        if known.iter().any(|known| known.commit == commit) {
            continue;
        }
        git::verbs::stash::store(git, workspace.path(), commit, &stash.message).await?;
    }
    Ok(())
}

/// Some of a salvage would not come back, which must not look as if all had.
fn no_archive(id: SalvageId) -> Problem {
    conflict(
        "salvage_incomplete",
        format!("the archive with the repositories of salvage {id} is missing"),
    )
    .field("salvage_id")
    .help("put it back into `.branchyard/salvage/` of the workspaces directory; the other files can be had one by one with GET /api/salvage/{id}/file")
}
