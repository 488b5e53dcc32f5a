//! Delivering a branch to another one of the remote, whose workspace is neither needed nor touched.

use std::sync::Arc;

use crate::error::{branch_not_found, conflict};
use crate::verbs::attempts::{Attempts, Failed};
use crate::verbs::{pull, push, upstream};
use crate::{Error, Report, Reporter, Workspace};
use branchyard_git::verbs::conflicts::Conflict;
use branchyard_git::verbs::deliver::{Combined, Delivered, DeliveryState, Request, combine};
use branchyard_git::verbs::few;
use branchyard_git::verbs::integration::How;
use branchyard_git::verbs::push::{Update, outgoing};
use branchyard_git::{self as git, ObjectId, RemoteFailure, object_id};
use branchyard_model::{BranchName, CommitId, ErrorKind, Problem, Warning};

/// Others deliver there too, and each time one of them arrives.
const RETRIES: u32 = 10;

/// What one attempt came to.
enum Attempt {
    /// The remote has it: this commit.
    Arrived(CommitId),
    UpToDate(CommitId),
    /// With this commit of the remote. They are in the workspace now.
    Conflicts(CommitId, Vec<Conflict>),
    Failed(Failed),
}

/// Merges or rebases the branch, as it is committed, onto `into`, and pushes that if the remote still has there what it
/// was made from; else it is made again. The caller holds the workspace's lock, and not its files; or it is done beside
/// a command that runs there, and then moves none.
pub async fn deliver(
    workspace: &Arc<Workspace>,
    request: Request,
    beside_run: bool,
    report: &Reporter,
) -> Result<Delivered, Error> {
    push::check_can_push(workspace, false).await?;
    let mut attempts = Attempts::new(RETRIES);
    let mut sent = None;
    let mut delivered = Delivered {
        state: DeliveryState::Delivered,
        into: request.into.clone(),
        remote_commit: upstream::tip(workspace).await?,
        outgoing: Vec::new(),
        outgoing_in_all: None,
        attempts: 0,
        failures: Vec::new(),
        conflicts: Vec::new(),
        conflicts_in_all: None,
    };
    loop {
        let attempt = deliver_once(
            workspace,
            (&request, beside_run),
            (&mut delivered, &mut sent),
            report,
        );
        let (state, there) = match attempt.await? {
            Attempt::Arrived(there) => (DeliveryState::Delivered, there),
            Attempt::UpToDate(there) => {
                warn_of_changes(workspace, report).await?;
                (DeliveryState::UpToDate, there)
            }
            Attempt::Conflicts(there, found) => {
                delivered.conflicts = found;
                (DeliveryState::Conflicts, there)
            }
            Attempt::Failed(failed) => {
                attempts.wait(workspace, &request.into, failed).await?;
                continue;
            }
        };
        (delivered.state, delivered.remote_commit) = (state, there);
        delivered.attempts = attempts.count();
        delivered.failures = attempts.into_failures();
        return Ok(delivered);
    }
}

async fn deliver_once(
    workspace: &Arc<Workspace>,
    (request, beside_run): (&Request, bool),
    (delivered, sent): (&mut Delivered, &mut Option<ObjectId>),
    report: &Reporter,
) -> Result<Attempt, Error> {
    let into = &request.into;
    let there = match upstream::learn_of(workspace, into, report).await {
        Ok(there) => there.ok_or_else(|| not_there(into))?,
        Err(error) => return Ok(Attempt::Failed(Failed::of(error)?)),
    };
    let target = object_id(&there)?;
    // It arrived with an attempt of which no answer came back.
    if let Some(sent) = *sent
        && has(workspace, target, sent).await?
    {
        return Ok(Attempt::Arrived(there));
    }
    let here = upstream::tip(workspace).await?;
    let message = request.message.clone();
    let message =
        message.unwrap_or_else(|| format!("Merge branch '{}' into {into}", workspace.branch()));
    let combined = combine(
        workspace.repo().git(),
        (workspace.path(), workspace.repo().store().path()),
        (target, object_id(&here)?),
        request.how,
        &message,
    );
    let made = match combined.await? {
        Combined::Contained => return Ok(Attempt::UpToDate(there)),
        Combined::Commit(made) => made,
        Combined::Conflicts(paths) => {
            if beside_run {
                return Err(
                    in_conflict(workspace, into, &paths, "what runs there has ended").into(),
                );
            }
            return take_in(workspace, into, there, (request.how, &paths)).await;
        }
    };
    let told = workspace.with_repository(move |_, repo| Ok(outgoing(repo, made, Some(target))?));
    (delivered.outgoing, delivered.outgoing_in_all) = told.await?;
    let update = Update {
        from: Some(made.to_string()),
        to: into.local_ref(),
        lease: Some(there),
    };
    *sent = Some(made);
    match push::hand_over(workspace, &[update]).await {
        Ok(Ok(())) => {}
        Ok(Err(no)) => {
            RemoteFailure::Rejected.count("push");
            return Ok(Attempt::Failed(Failed::rejected(no)));
        }
        Err(error) => return Ok(Attempt::Failed(Failed::of(error)?)),
    }
    // Only the remote itself says that it arrived.
    let there = match upstream::learn_of(workspace, into, report).await {
        Ok(there) => there,
        Err(error) => return Ok(Attempt::Failed(Failed::of(error)?)),
    };
    let Some(there) = there else {
        let gone = "the branch was deleted on the remote right after the push";
        return Ok(Attempt::Failed(Failed::rejected(gone.to_owned())));
    };
    Ok(match has(workspace, object_id(&there)?, made).await? {
        true => Attempt::Arrived(there),
        false => {
            let why = format!("the remote has {there} in its place");
            Attempt::Failed(Failed::rejected(why))
        }
    })
}

/// Brings the conflicts to this workspace, where they can be resolved.
async fn take_in(
    workspace: &Arc<Workspace>,
    into: &BranchName,
    there: CommitId,
    (how, paths): (How, &[String]),
) -> Result<Attempt, Error> {
    match pull::take_in(workspace, into, &there, how, false).await {
        Ok(Some(found)) => Ok(Attempt::Conflicts(there, found)),
        // With the files at hand git found none, and the branch has that commit now.
        Ok(None) => Ok(Attempt::Failed(Failed::rejected(format!(
            "{into} was taken in here first"
        )))),
        // Somebody's changes are in the way.
        Err(error) if error.problem().kind == ErrorKind::Conflict => {
            let problem = error.problem();
            let until = format!("this is settled: {}", problem.detail);
            Err(in_conflict(workspace, into, paths, &until).into())
        }
        Err(error) => Err(error),
    }
}

/// Where there is nothing to deliver, what was meant may not be committed.
async fn warn_of_changes(workspace: &Arc<Workspace>, report: &Reporter) -> Result<(), Error> {
    let changed = workspace.with_repository(|_, repo| Ok(git::changed_files(repo)?));
    if !changed.await?.is_empty() {
        let detail = "there are changes here that are not committed, and were not delivered";
        report(Report::Warning(Warning::new("uncommitted", detail)));
    }
    Ok(())
}

async fn has(workspace: &Arc<Workspace>, there: ObjectId, commit: ObjectId) -> Result<bool, Error> {
    workspace
        .blocking(move |this| {
            let store = this.repo().open_store()?;
            Ok(git::is_ancestor(&store, commit, there)?)
        })
        .await
}

fn not_there(into: &BranchName) -> Problem {
    branch_not_found(into).field("into").help(format!(
        "the remote has no {into} yet: make it with git_branch and git_push, then deliver to it"
    ))
}

/// Conflicts that cannot be brought to the workspace now.
fn in_conflict(workspace: &Workspace, into: &BranchName, paths: &[String], until: &str) -> Problem {
    let detail = format!(
        "nothing was pushed: {} and {into} both changed {}",
        workspace.branch(),
        few(paths)
    );
    conflict("conflicts", detail).field("into").help(format!(
        "once {until}, take {into} in with git_pull (from: {into}), resolve with git_resolve, and deliver again"
    ))
}
