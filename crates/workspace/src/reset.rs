//! Making a workspace what the remote has, whatever was there; and pristine. What somebody could miss
//! is saved first. the caller holds the files exclusively.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{branch_moves, incomplete, mounted};
use super::in_the_way::in_the_way;
use super::salvage::{SalvageScope, tell};
use super::work::{Belongings, Look};
use super::{Error, Report, Reporter, Workspace};
use crate::submodules::SubmodulesLook;
use crate::{in_the_way, salvage, settle, standing, submodules, warm, work};
use branchyard_config::crash_point;
use branchyard_git::verbs::conflicts::Working;
use branchyard_git::{
    self as git, Moved, ObjectId, Repository, UntrackedEntry, contents, object_id,
};
use branchyard_model::{About, CommitId, Phase, Salvage, SalvageReason};
use branchyard_runtime::disk::{Moment, if_there};

/// How often a reset is begun anew because there is a commit that was not there when it was looked at.
pub(super) const ROUNDS: usize = 5;

/// Moves branch, index and tracked files to `target`; with `clean`, what is not tracked goes too.
pub(super) async fn reset(
    workspace: &Arc<Workspace>,
    target: &CommitId,
    reason: SalvageReason,
    clean: bool,
    by: &str,
    report: &Reporter,
) -> Result<About, Error> {
    for _ in 0..ROUNDS {
        match reset_once(workspace, target, (reason, clean), by, report).await? {
            Moved::TipMoved => {}
            Moved::Done(complaint) => return finish_reset(workspace, target, complaint).await,
        }
    }
    Err(branch_moves(workspace.branch()).into())
}

async fn reset_once(
    workspace: &Arc<Workspace>,
    target: &CommitId,
    how: (SalvageReason, bool),
    by: &str,
    report: &Reporter,
) -> Result<Moved, Error> {
    let (goal, who, looked_at) = (target.clone(), by.to_owned(), Moment::now());
    let (tips, saved) = workspace
        .blocking(move |this| {
            this.yard()
                .trash
                .check(this.path())
                .map_err(|error| cannot_discard(this, "look at the workspace", error))?;
            let tips = contents::tips(this.worktree())?;
            Ok((tips, clear_the_way(this, &goal, how, looked_at, &who)?))
        })
        .await?;
    tell(report, saved.as_ref());
    report(Report::Phase(Phase::Checkout, None));
    standing::begin_move(workspace, target).await?;
    // Not before: files that are gone are known to be a move's own from here on.
    let goal = object_id(target)?;
    workspace
        .with_repository(move |this, repo| {
            let gone = settle::make_way(this, repo, goal)?;
            settle::discard_in_the_way(this, &gone, looked_at)?;
            submodules::forget(this)?;
            set_aside_changing(this, repo, goal, looked_at)
        })
        .await?;
    crash_point("reset-begun");
    let git = workspace.repo().git();
    Ok(contents::reset_to(workspace.worktree(), git, target, tips).await?)
}

async fn finish_reset(
    workspace: &Arc<Workspace>,
    target: &CommitId,
    complaint: Option<String>,
) -> Result<About, Error> {
    crash_point("reset-moved");
    let about = standing::about(workspace).await?;
    if let Some(complaint) = complaint.filter(|_| about.dirty != Some(false)) {
        return Err(incomplete(target.as_str(), &complaint).into());
    }
    standing::finish_move(workspace, target).await?;
    Ok(about)
}

/// Saves what a reset to `goal` would discard, if anything, and takes away what is not tracked and
/// in its way.
fn clear_the_way(
    workspace: &Workspace,
    target: &CommitId,
    (reason, clean): (SalvageReason, bool),
    looked_at: Moment,
    by: &str,
) -> Result<Option<Salvage>, Error> {
    let repo = workspace.worktree().open()?;
    let goal = object_id(target)?;
    // Files that are as the old or the new tree has them are a cut-off move's own.
    if reason == SalvageReason::CutOff
        && standing::standing(workspace, &repo, None)?.ahead == 0
        && git::head(&repo)?.operation.is_none()
        && git::is_between(&repo, goal, &SubmodulesLook::of(workspace)?.untouched())?
    {
        return Ok(None);
    }
    let untracked = submodules::untracked_entries(workspace, &repo)?;
    let mut belongings = work::belongings(workspace, &repo, Look::Whole)?;
    let stragglers = settle::stragglers(workspace, target)?;
    work::add_submodules(&mut belongings, workspace, stragglers);
    let mut in_the_way = in_the_way(&repo, goal, &belongings)?;
    let output_in_the_way = in_the_way::output_in_the_way(workspace, &repo, goal, &belongings)?;
    let needs_output = !output_in_the_way.is_empty();
    in_the_way.extend(output_in_the_way);
    let is_at_stake = !work::tracked_work(workspace, &repo, belongings.is_changed)?.is_empty()
        || !in_the_way.is_empty()
        || !belongings.submodules.is_empty()
        || (clean && belongings.would_be_missed());
    let scope = match clean || needs_output {
        true => SalvageScope::All,
        false => SalvageScope::Tracked,
    };
    let save = || salvage::save(workspace, &repo, &belongings, scope, reason, by);
    let saved = is_at_stake.then(save).transpose()?;
    settle::discard_with_work(workspace, &belongings, looked_at)?;
    discard_from_places(workspace, &repo, &belongings, looked_at)?;
    if clean {
        sweep(workspace, &repo, &untracked, looked_at)?;
        return Ok(saved);
    }
    for path in in_the_way {
        discard(workspace, &path, looked_at)?;
    }
    Ok(saved)
}

/// Takes away what stands where submodules are to be. All of that is saved.
fn discard_from_places(
    workspace: &Workspace,
    repo: &Repository,
    belongings: &Belongings,
    looked_at: Moment,
) -> Result<(), Error> {
    let worked = belongings.submodules.iter().map(|worked| &worked.path);
    set_aside(workspace, worked, looked_at)?;
    let mut replaced = git::submodules(repo)?;
    replaced.retain(|path| {
        let found = workspace.path().join(path).symlink_metadata();
        found.is_ok_and(|meta| !meta.is_dir())
    });
    set_aside(workspace, &replaced, looked_at)
}

/// Takes everything away that is not tracked, for a pristine build.
pub(super) async fn clean(
    workspace: &Arc<Workspace>,
    by: &str,
    report: &Reporter,
) -> Result<(), Error> {
    let who = by.to_owned();
    let saved = workspace
        .blocking(move |this| {
            let looked_at = Moment::now();
            let repo = this.worktree().open()?;
            let untracked = submodules::untracked_entries(this, &repo)?;
            let belongings = work::belongings(this, &repo, Look::Whole)?;
            let (scope, reason) = (SalvageScope::All, SalvageReason::Clean);
            let save = || salvage::save(this, &repo, &belongings, scope, reason, &who);
            let saved = belongings.would_be_missed().then(save).transpose()?;
            crash_point("clean-saved");
            sweep(this, &repo, &untracked, looked_at)?;
            Ok(saved)
        })
        .await?;
    tell(report, saved.as_ref());
    Ok(())
}

/// Moves what is not tracked to the trash: what was there before it was looked at and saved. Notes that no build output
/// is left.
fn sweep(
    workspace: &Workspace,
    repo: &Repository,
    untracked: &[UntrackedEntry],
    looked_at: Moment,
) -> Result<(), Error> {
    let modules = git::submodules(repo)?;
    for item in untracked {
        discard(workspace, &item.path, looked_at)?;
        // A submodule without its directory would count as deleted.
        if modules.contains(&item.path) {
            std::fs::create_dir(workspace.path().join(&item.path))
                .map_err(Error::io("empty a submodule"))?;
        }
    }
    warm::forget_output(workspace)
}

/// Takes the tracked files away that a reset to `goal` changes. What a person could miss of them is saved by then; what
/// was written after `looked_at` goes to the quarantine.
pub(super) fn set_aside_changing(
    workspace: &Workspace,
    repo: &Repository,
    goal: ObjectId,
    looked_at: Moment,
) -> Result<(), Error> {
    set_aside(workspace, &git::changed_by_reset(repo, goal)?, looked_at)
}

/// Discards those of `paths` that are there, and the directories that are empty without them. What is behind a link is
/// not the workspace's.
pub(super) fn set_aside<'a>(
    workspace: &Workspace,
    paths: impl IntoIterator<Item = &'a PathBuf>,
    looked_at: Moment,
) -> Result<(), Error> {
    let files = Working::open(workspace.path())?;
    for path in paths {
        let found = files.stat(path).map_err(Error::io("look at a file"))?;
        if found.is_some() {
            discard(workspace, path, looked_at)?;
            prune(workspace, path);
        }
    }
    Ok(())
}

/// Removes the directories that are empty now that `path` is gone.
fn prune(workspace: &Workspace, path: &Path) {
    let dirs = path.ancestors().skip(1);
    for dir in dirs.filter(|dir| dir.parent().is_some()) {
        if std::fs::remove_dir(workspace.path().join(dir)).is_err() {
            return;
        }
    }
}

/// Moves a file or directory of the workspace out of it, to be deleted later, but for what was written after it was
/// looked at.
pub(super) fn discard(workspace: &Workspace, path: &Path, looked_at: Moment) -> Result<(), Error> {
    let dir = workspace.branch().dir();
    let path = workspace.path().join(path);
    // If it is not there any more, its owner was faster.
    let taken = if_there(workspace.yard().trash.take_seen(&path, &dir, looked_at));
    taken
        .map(drop)
        .map_err(|error| cannot_discard(workspace, "move a file to the trash", error))
}

/// What is on a mount of its own stays where it is.
pub(super) fn cannot_discard(workspace: &Workspace, what: &'static str, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices => {
            mounted(workspace.branch(), &error).into()
        }
        _ => Error::io(what)(error),
    }
}
