//! Taking in what the remote has, whole or not at all.

use crate::verbs::upstream;
use std::sync::Arc;

use super::super::error::{branch_not_found, conflict};
use crate::{Error, Reporter, Workspace, guard};
use branchyard_git as git;
use branchyard_git::object_id;
use branchyard_git::verbs::conflicts::{Conflict, conflicts};
use branchyard_git::verbs::integration::{self, How, Integrated};
use branchyard_git::verbs::operation::Operation;
use branchyard_git::verbs::pull::{PullHow, Pulled, Request, State};
use branchyard_model::{BranchName, CommitId};

/// Takes in a branch of the remote. The caller holds the workspace's lock, and not its files.
pub async fn pull(
    workspace: &Arc<Workspace>,
    request: Request,
    report: &Reporter,
) -> Result<Pulled, Error> {
    let from = request
        .from
        .clone()
        .unwrap_or_else(|| workspace.branch().clone());
    let upstream = upstream::learn_of(workspace, &from, report)
        .await?
        .ok_or_else(|| branch_not_found(&from).field("from"))?;
    let before = upstream::tip(workspace).await?;
    let state = relation(workspace, &before, &upstream).await?;
    let mut pulled = Pulled {
        state: State::UpToDate,
        from,
        from_commit: upstream.clone(),
        head_before: before,
        conflicts: Vec::new(),
    };
    pulled.state = match (state, request.how) {
        (Relation::Contained, _) => State::UpToDate,
        (Relation::Ahead, how) => {
            let from = &pulled.from;
            take_in(workspace, from, &upstream, how.how(), true).await?;
            State::FastForward
        }
        (Relation::Apart, PullHow::FfOnly) => return Err(apart(workspace, &pulled.from).into()),
        (Relation::Apart, how) => {
            let found = take_in(
                workspace,
                &pulled.from,
                &upstream,
                how.how(),
                request.abort_on_conflict,
            )
            .await?;
            match (found, how) {
                (Some(found), _) => {
                    pulled.conflicts = upstream::told(found, request.verbosity);
                    match request.abort_on_conflict {
                        true => State::Aborted,
                        false => State::Conflicts,
                    }
                }
                (None, PullHow::Rebase) => State::Rebased,
                (None, _) => State::Merged,
            }
        }
    };
    Ok(pulled)
}

/// Rebases onto `upstream`, a commit of the remote's `from`, or merges it, with the files held alone. Returns the conflicts, where there
/// are any; with `abort` everything is as it was before then.
pub(super) async fn take_in(
    workspace: &Arc<Workspace>,
    from: &BranchName,
    upstream: &CommitId,
    how: How,
    abort: bool,
) -> Result<Option<Vec<Conflict>>, Error> {
    let _files = workspace.files().lock().await;
    guard::guard(workspace, &crate::silent())?;
    let (git, dir) = (workspace.repo().git(), workspace.path());
    let message = format!("Merge origin/{from} into {}", workspace.branch());
    let integrated = integration::integrate(git, dir, upstream, how, &message);
    if integrated.await? != Integrated::Conflicts {
        return Ok(None);
    }
    let found = workspace
        .with_repository(|_, repo| Ok(conflicts(repo)?))
        .await?;
    if abort {
        let operation = match how {
            How::Rebase => Operation::Rebase,
            How::Merge => Operation::Merge,
        };
        let seen = integration::at(dir, integration::untouched_until).await?;
        integration::abort(git, dir, operation, seen).await?;
    }
    Ok(Some(found))
}

async fn relation(
    workspace: &Arc<Workspace>,
    here: &CommitId,
    there: &CommitId,
) -> Result<Relation, Error> {
    let (here, there) = (object_id(here)?, object_id(there)?);
    workspace
        .with_repository(move |_, repo| {
            if git::is_ancestor(repo, there, here)? {
                return Ok(Relation::Contained);
            }
            Ok(match git::is_ancestor(repo, here, there)? {
                true => Relation::Ahead,
                false => Relation::Apart,
            })
        })
        .await
}

fn apart(workspace: &Workspace, from: &BranchName) -> branchyard_model::Problem {
    let detail = format!(
        "{} cannot be fast-forwarded to {from}: it has commits of its own",
        workspace.branch()
    );
    conflict("not_fast_forward", detail)
        .field("how")
        .help("pull with how rebase or merge")
}

/// What the remote has, seen from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// All of it is here.
    Contained,
    /// It goes on from what is here.
    Ahead,
    Apart,
}
