//! Resets that somebody asked for: what they discard is saved first, and what they leave behind is told.

use std::path::PathBuf;
use std::sync::Arc;

use super::in_gits_words;
use crate::error::{branch_moves, conflict, incomplete};
use crate::in_the_way::in_gits_way;
use crate::reset::ROUNDS;
use crate::salvage::{SalvageScope, tell};
use crate::work::Look;
use crate::{Error, Reporter, Workspace, in_the_way, salvage, settle, verbs, work};
use branchyard_git::verbs::reset::{self, Done, Mode, Request};
use branchyard_git::verbs::{
    Kept, Named, Verbosity, confirm_needed, conflicted, few, operation_under_way, revision, staged,
    unresolved, unstaged,
};
use branchyard_git::{self as git, ObjectId, Repository, Tips, contents};
use branchyard_model::{Salvage, SalvageReason};
use branchyard_runtime::disk::Moment;

/// What is to be done, once all that can be refused was, and all that it discards saved.
struct ResetPlan {
    was: ObjectId,
    tips: Tips,
    to: ObjectId,
    paths: Vec<PathBuf>,
    left_behind: usize,
    saved: Option<Salvage>,
}

/// Moves the branch, or takes files out of the next commit. the caller holds the files exclusively.
pub async fn reset_head(
    workspace: &Arc<Workspace>,
    request: Request,
    by: &str,
    report: &Reporter,
) -> Result<Done, Error> {
    let (mode, verbosity) = (request.mode, request.verbosity);
    let mut plan = planned(workspace, request.clone(), by, report).await?;
    let (git, dir) = (workspace.repo().git(), workspace.path());
    if !plan.paths.is_empty() {
        let done = reset::unstage(git, dir, plan.to, &plan.paths).await;
        done.map_err(in_gits_words)?;
    } else if mode == Mode::Hard {
        let mut rounds = 1;
        while !reset_files(workspace, plan.to, plan.tips).await? {
            if rounds == ROUNDS {
                return Err(branch_moves(workspace.branch()).into());
            }
            rounds += 1;
            let again = Request {
                // As it was meant the first time.
                to: Some(plan.to.to_string()),
                ..request.clone()
            };
            plan = planned(workspace, again, by, report).await?;
        }
    } else {
        let done = reset::reset(git, dir, mode, plan.to).await;
        done.map_err(in_gits_words)?;
    }
    workspace
        .with_repository(move |_, repo| {
            let staged = staged(repo)?;
            Ok(Done {
                mode,
                was_at: git::commit_id(plan.was)?,
                now_at: git::commit_id(git::head(repo)?.commit)?,
                left_behind: plan.left_behind,
                kept: plan.saved.as_ref().map(Kept::from),
                staged_files: staged.len(),
                staged: (verbosity > Verbosity::Minimal).then_some(staged),
            })
        })
        .await
}

async fn planned(
    workspace: &Arc<Workspace>,
    request: Request,
    by: &str,
    report: &Reporter,
) -> Result<ResetPlan, Error> {
    let by = by.to_owned();
    let plan = workspace
        .with_repository(move |this, repo| plan_reset(this, repo, &request, &by))
        .await?;
    tell(report, plan.saved.as_ref());
    Ok(plan)
}

/// Returns whether it was done: not if there is a commit that was not there when it was `seen`.
async fn reset_files(workspace: &Arc<Workspace>, to: ObjectId, seen: Tips) -> Result<bool, Error> {
    let target = git::commit_id(to)?;
    let reset =
        contents::reset_to(workspace.worktree(), workspace.repo().git(), &target, seen).await;
    match reset.map_err(in_gits_words)? {
        git::Moved::TipMoved => Ok(false),
        git::Moved::Done(Some(complaint)) => {
            // Git leaves submodules as they are.
            let is_left = workspace.with_repository(|_, repo| {
                Ok(git::tracked_changes_beside(repo, &git::submodules(repo)?)?)
            });
            match is_left.await? {
                true => Err(incomplete(target.as_str(), &complaint).into()),
                false => Ok(true),
            }
        }
        git::Moved::Done(None) => Ok(true),
    }
}

fn plan_reset(
    workspace: &Workspace,
    repo: &Repository,
    request: &Request,
    by: &str,
) -> Result<ResetPlan, Error> {
    let tips = contents::tips(workspace.worktree())?;
    let head = git::head(repo)?;
    let paths = verbs::inside(workspace, "paths", &request.paths)?;
    let to = match &request.to {
        Some(revision) => revision::commit_id(repo, "to", revision)?,
        None => head.commit,
    };
    let own = workspace.branch().local_ref();
    let left_behind = match paths.is_empty() {
        true => reset::left_behind(repo, &own, head.commit, to)?,
        false => 0,
    };
    match head.operation {
        // Its branch is not where HEAD is.
        Some(operation @ ("rebase" | "am" | "bisect")) => {
            return Err(operation_under_way(operation).into());
        }
        Some(operation) if request.mode != Mode::Hard && paths.is_empty() => {
            return Err(operation_under_way(operation).into());
        }
        // Its branch makes way for one of the remote's, and cannot be moved now.
        None if request.mode == Mode::Hard && head.branch.is_none() => {
            let detail = format!(
                "{} is parked: the remote has a branch that cannot stand beside it",
                workspace.branch()
            );
            return Err(conflict("parked", detail)
                .field("branch")
                .help("create a branch of another name from here with git_branch")
                .into());
        }
        _ => {}
    }
    let saved = match request.mode {
        Mode::Hard => clear_for_reset(workspace, repo, to, left_behind, request.confirm, by)?,
        Mode::Mixed => keep_staged(workspace, repo, &Named::new(paths.clone()), by)?,
        Mode::Soft => {
            let open = conflicted(repo)?;
            if !open.is_empty() {
                return Err(unresolved(&open).into());
            }
            None
        }
    };
    Ok(ResetPlan {
        was: head.commit,
        tips,
        to,
        paths,
        left_behind,
        saved,
    })
}

/// Saves all that a hard reset to `to` would discard, and takes away what stands in its way.
fn clear_for_reset(
    workspace: &Workspace,
    repo: &Repository,
    to: ObjectId,
    left_behind: usize,
    confirm: bool,
    by: &str,
) -> Result<Option<Salvage>, Error> {
    let looked_at = Moment::now();
    let belongings = work::belongings(workspace, repo, Look::Whole)?;
    let untracked = in_gits_way(repo, to, &belongings)?;
    let output = in_the_way::output_in_the_way(workspace, repo, to, &belongings)?;
    let mut lost = changes(repo)?;
    if let Some(operation) = git::head(repo)?.operation {
        lost.push(format!("a {operation} that is under way"));
    }
    if left_behind > 0 {
        lost.push(format!(
            "{left_behind} commit(s) that are on no other branch"
        ));
    }
    let in_its_way: Vec<_> = untracked.iter().chain(&output).collect();
    if !in_its_way.is_empty() {
        let names = in_its_way.iter().map(|path| path.to_string_lossy());
        let names: Vec<_> = names.collect();
        lost.push(format!("files in its way: {}", few(&names)));
    }
    if !confirm {
        return Err(confirm_needed("a hard reset", &lost).into());
    }
    if lost.is_empty() {
        make_way(workspace, repo, to, looked_at)?;
        return Ok(None);
    }
    let scope = match output.is_empty() {
        true => SalvageScope::Tracked,
        false => SalvageScope::All,
    };
    let reason = SalvageReason::Reset;
    let saved = salvage::salvage(workspace, lost, &belongings, scope, reason, by)?;
    for path in in_its_way {
        crate::reset::discard(workspace, path, looked_at)?;
    }
    make_way(workspace, repo, to, looked_at)?;
    Ok(Some(saved))
}

fn make_way(
    workspace: &Workspace,
    repo: &Repository,
    to: ObjectId,
    looked_at: Moment,
) -> Result<(), Error> {
    let gone = settle::make_way(workspace, repo, to)?;
    settle::discard_in_the_way(workspace, &gone, looked_at)?;
    crate::reset::set_aside_changing(workspace, repo, to, looked_at)
}

/// Saves versions of files that are nowhere but in the index, before a reset of it.
pub(super) fn keep_staged(
    workspace: &Workspace,
    repo: &Repository,
    named: &Named,
    by: &str,
) -> Result<Option<Salvage>, Error> {
    let files = reset::only_staged(repo, named)?;
    if files.is_empty() {
        return Ok(None);
    }
    let work = vec![format!("versions that were only staged: {}", few(&files))];
    let belongings = work::belongings(workspace, repo, Look::Whole)?;
    let (scope, reason) = (SalvageScope::Tracked, SalvageReason::Reset);
    salvage::salvage(workspace, work, &belongings, scope, reason, by).map(Some)
}

fn changes(repo: &Repository) -> Result<Vec<String>, Error> {
    let mut files: Vec<String> = staged(repo)?
        .into_iter()
        .chain(unstaged(repo)?)
        .map(|change| change.path)
        .collect();
    files.sort();
    files.dedup();
    if !files.is_empty() {
        return Ok(vec![format!("changes to {}", few(&files))]);
    }
    // Git may have been told to overlook some.
    let is_changed = git::tracked_changes(repo)?;
    Ok(is_changed
        .then(|| "changes to tracked files".to_owned())
        .into_iter()
        .collect())
}
