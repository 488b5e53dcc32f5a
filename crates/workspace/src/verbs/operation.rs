//! Operations that stopped in a workspace: going on, leaving out a step, putting all back. The caller
//! holds the workspace's lock and its files.

use std::sync::Arc;

use branchyard_git::Repository;

use super::super::error::conflict;
use super::super::salvage::{self, SalvageScope, tell};
use super::super::{Error, Report, Reporter, Workspace};
use crate::work::{self, Look};
use branchyard_git::verbs::integration::{self, Ended, Origin, StoppedStep, way_on};
use branchyard_git::verbs::operation::Operation;
use branchyard_git::verbs::{conflicted, unresolved};
use branchyard_model::{Salvage, SalvageReason, Warning};
use branchyard_runtime::disk::Moment;

/// How an operation that stopped is to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoOn {
    /// With this message of the step at which it stopped, or with git's.
    Continue(Option<String>),
    /// Without the step at which it stopped.
    Skip,
    /// Not at all: all is put back.
    Abort,
}

/// What was found, and saved, before an operation goes on, and when that was: what is written later is not in it. Last the
/// files that are to be committed with conflict markers in them.
type Before = (Operation, Origin, Moment, Option<Salvage>, Vec<String>);

/// Brings the `expected` operation on. What somebody did since it stopped is saved before it goes.
pub async fn go_on(
    workspace: &Arc<Workspace>,
    expected: Operation,
    how: GoOn,
    by: String,
    report: &Reporter,
) -> Result<(Origin, Ended), Error> {
    let asked = how.clone();
    let found = workspace.blocking(move |this| before_going_on(this, expected, &asked, &by));
    let (operation, origin, seen, saved, marked) = found.await?;
    tell(report, saved.as_ref());
    if !marked.is_empty() {
        let detail = format!("conflict markers are left in {}", marked.join(", "));
        report(Report::Warning(Warning::new("conflict_markers", detail)));
    }
    let (git, dir) = (workspace.repo().git(), workspace.path());
    let ended = match how {
        GoOn::Abort => {
            integration::abort(git, dir, operation, seen).await?;
            Ended::Aborted
        }
        GoOn::Skip => integration::resume(git, dir, operation, StoppedStep::LeftOut, seen).await?,
        GoOn::Continue(message) => {
            let step = StoppedStep::Committed(message);
            integration::resume(git, dir, operation, step, seen).await?
        }
    };
    Ok((origin, ended))
}

fn before_going_on(
    workspace: &Workspace,
    expected: Operation,
    how: &GoOn,
    by: &str,
) -> Result<Before, Error> {
    let repo = workspace.worktree().open()?;
    let operation = under_way(&repo, expected, how)?;
    let origin = Origin::of(&repo, operation)?;
    let marked = match how {
        GoOn::Continue(_) => {
            check_resolved(&repo)?;
            integration::staged_with_markers(&repo)?
        }
        GoOn::Skip | GoOn::Abort => Vec::new(),
    };
    match how {
        GoOn::Abort => origin.way_back(&repo)?.check_untracked(&repo)?,
        GoOn::Continue(_) | GoOn::Skip => way_on(&repo, operation)?.check_untracked(&repo)?,
    }
    let seen = Moment::now();
    let is_lost = !matches!(how, GoOn::Continue(_)) && integration::is_touched(&repo)?;
    let save = || save(workspace, &repo, SalvageReason::Abort, by);
    let saved = is_lost.then(save).transpose()?;
    Ok((operation, origin, seen, saved, marked))
}

/// Saves commits, index and tracked files as they are now.
pub(super) fn save(
    workspace: &Workspace,
    repo: &Repository,
    reason: SalvageReason,
    by: &str,
) -> Result<Salvage, Error> {
    let belongings = work::belongings(workspace, repo, Look::Whole)?;
    let scope = SalvageScope::Tracked;
    salvage::save(workspace, repo, &belongings, scope, reason, by)
}

/// What is under way, if the caller means it.
fn under_way(repo: &Repository, expected: Operation, how: &GoOn) -> Result<Operation, Error> {
    match Operation::under_way(repo)? {
        Some(operation) if operation == expected => Ok(operation),
        // A squash or a pick without a commit leaves nothing but its conflicts.
        Some(Operation::Apply) if *how == GoOn::Abort && expected != Operation::Rebase => {
            Ok(Operation::Apply)
        }
        Some(other) => Err(other.in_the_way().into()),
        None => {
            let detail = format!("no {} is under way here", expected.name());
            Err(conflict("nothing_under_way", detail)
                .field("action")
                .help("action start begins one; git_status tells how the workspace stands")
                .into())
        }
    }
}

fn check_resolved(repo: &Repository) -> Result<(), Error> {
    match conflicted(repo)? {
        none if none.is_empty() => Ok(()),
        files => Err(unresolved(&files).into()),
    }
}
