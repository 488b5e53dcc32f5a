//! Delivering a branch to another one of the remote, whose workspace is neither needed nor touched.

use std::sync::Arc;

use crate::error::{branch_not_found, conflict};
use crate::verbs::attempts::{Attempts, Failed};
use crate::verbs::{pull, push, upstream};
use crate::{Error, Report, Reporter, Workspace};
use branchyard_git::verbs::conflicts::Conflict;
use branchyard_git::verbs::deliver::{Combined, Delivered, DeliveryState, Request, combine};
use branchyard_git::verbs::integration::How;
use branchyard_git::verbs::push::{Update, outgoing};
use branchyard_git::verbs::{Brief, few};
use branchyard_git::{ObjectId, RemoteFailure, object_id};
use branchyard_model::{BranchName, CommitId, ErrorKind, Problem, Warning};

/// Others deliver there too, and each time one of them arrives.
const RETRIES: u32 = 10;

/// What one attempt came to.
enum Attempt {
    /// The remote has it: this commit, and with it those that it lacked, and how many where that is more.
    Arrived(CommitId, (Vec<Brief>, Option<usize>)),
    UpToDate(CommitId),
    /// With this commit of the remote. They are in the workspace now.
    Conflicts(CommitId, Vec<Conflict>),
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
    let mut attempts = Attempts::new("into", RETRIES);
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
    };
    let attempt = loop {
        match deliver_once(workspace, (&request, beside_run), &mut sent, report).await {
            Ok(attempt) => break attempt,
            Err(failed) => attempts.wait(workspace, &request.into, failed).await?,
        }
    };
    (delivered.state, delivered.remote_commit) = match attempt {
        Attempt::Arrived(there, commits) => {
            (delivered.outgoing, delivered.outgoing_in_all) = commits;
            (DeliveryState::Delivered, there)
        }
        Attempt::UpToDate(there) => (DeliveryState::UpToDate, there),
        Attempt::Conflicts(there, found) => {
            delivered.conflicts = found;
            (DeliveryState::Conflicts, there)
        }
    };
    delivered.attempts = attempts.count();
    delivered.failures = attempts.into_failures();
    if delivered.state != DeliveryState::Conflicts {
        warn_of_changes(workspace, report).await?;
    }
    Ok(delivered)
}

async fn deliver_once(
    workspace: &Arc<Workspace>,
    (request, beside_run): (&Request, bool),
    sent: &mut Option<ObjectId>,
    report: &Reporter,
) -> Result<Attempt, Failed> {
    let into = &request.into;
    let there = upstream::learn_of(workspace, into, report).await?;
    let there = there.ok_or_else(|| not_there(into))?;
    // A command that runs here may have gone elsewhere since the last attempt.
    push::check_can_push(workspace, false).await?;
    let target = object_id(&there)?;
    // It arrived with an attempt of which no answer came back.
    if let Some(sent) = *sent
        && upstream::has(workspace, into, &there, sent).await?
    {
        return Ok(Attempt::Arrived(there, (Vec::new(), None)));
    }
    let here = upstream::tip(workspace).await?;
    let message = request.message.clone();
    let message =
        message.unwrap_or_else(|| format!("Merge branch '{}' into {into}", workspace.branch()));
    let combined = combine(
        workspace.repo().git(),
        workspace.repo().store().path(),
        (target, object_id(&here)?),
        request.how,
        &message,
    );
    let made = match combined.await? {
        Combined::Contained => return Ok(Attempt::UpToDate(there)),
        Combined::Commit(made) => made,
        Combined::Conflicts(paths) => {
            if beside_run {
                let until = "what runs there has ended";
                return Err(in_conflict(workspace, (into, request.how), &paths, until).into());
            }
            return take_in(workspace, into, there, (request.how, &paths)).await;
        }
    };
    let told = workspace.with_repository(move |_, repo| Ok(outgoing(repo, made, Some(target))?));
    let commits = told.await?;
    let update = Update {
        from: Some(made.to_string()),
        to: into.local_ref(),
        lease: Some(there),
    };
    *sent = Some(made);
    if let Err(no) = push::hand_over(workspace, &[update]).await? {
        RemoteFailure::Rejected.count("push");
        return Err(Failed::Rejected(no));
    }
    let there = upstream::verify(workspace, into, made, report).await?;
    Ok(Attempt::Arrived(there, commits))
}

/// Brings the conflicts to this workspace, where they can be resolved.
async fn take_in(
    workspace: &Arc<Workspace>,
    into: &BranchName,
    there: CommitId,
    (how, paths): (How, &[String]),
) -> Result<Attempt, Failed> {
    match pull::take_in(workspace, into, &there, how, false).await {
        Ok(Some(found)) => Ok(Attempt::Conflicts(there, found)),
        // With the files at hand git found none, and the branch has that commit now.
        Ok(None) => Err(Failed::Rejected(format!("{into} was taken in here first"))),
        // Uncommitted changes of this workspace are in the way.
        Err(error) if error.problem().kind == ErrorKind::Conflict => {
            let problem = error.problem();
            let until = format!("this is settled: {}", problem.detail);
            Err(in_conflict(workspace, (into, how), paths, &until).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// What was meant may not be committed.
async fn warn_of_changes(workspace: &Arc<Workspace>, report: &Reporter) -> Result<(), Error> {
    let changed = workspace.with_repository(|this, repo| Ok(push::everything(this, repo)?.0));
    let changed: Vec<_> = changed.await?;
    if !changed.is_empty() {
        let names: Vec<_> = changed.iter().map(|path| path.to_string_lossy()).collect();
        let detail = format!("not committed, and so not delivered: {}", few(&names));
        report(Report::Warning(Warning::new("uncommitted", detail)));
    }
    Ok(())
}

fn not_there(into: &BranchName) -> Problem {
    branch_not_found(into).field("into").help(format!(
        "the remote has no {into} yet: make it with git_branch and git_push, then deliver to it"
    ))
}

/// Conflicts that cannot be brought to the workspace now.
fn in_conflict(
    workspace: &Workspace,
    (into, how): (&BranchName, How),
    paths: &[String],
    until: &str,
) -> Problem {
    let detail = format!(
        "nothing was pushed: {} and {into} both changed {}",
        workspace.branch(),
        few(paths)
    );
    let how = match how {
        How::Merge => "merge",
        How::Rebase => "rebase",
    };
    conflict("conflicts", detail).field("into").help(format!(
        "once {until}, take {into} in with git_pull (from: {into}, how: {how}), resolve with git_resolve, and deliver again"
    ))
}
