//! Pushing until it has arrived: commit, take in what the remote has, push, and ask the remote whether it
//! has it. The files are held alone only while files move; nobody waits for the network to read a file.

mod deletion;
pub use deletion::{delete_on_remote, merged_on_remote};
mod gather;
pub(super) use gather::{check_can_push, everything};
mod words;

use std::sync::Arc;

use crate::verbs::attempts::{Attempts, Failed};
use crate::verbs::upstream;

use crate::error::check_is_branch;
use crate::{Error, Reporter, Workspace, included, verbs};
use branchyard_git::verbs::Verbosity;
use branchyard_git::verbs::push::{self, Pushed, Request, Standing, State, Update};
use branchyard_git::{self as git, RemoteFailure, object_id};
use branchyard_model::{BranchName, CommitId, is_agent_branch};
use branchyard_runtime::yard_events::RepoChange;

/// What one attempt came to.
enum Attempt {
    /// The remote has it: this commit.
    Arrived(CommitId),
    UpToDate(CommitId),
    Conflicts,
}

/// Pushes the branch. The caller holds the workspace's lock, and not its files; or it is done beside a command that runs
/// there, and then takes nothing in.
pub async fn push(
    workspace: &Arc<Workspace>,
    request: Request,
    beside_run: bool,
    report: &Reporter,
) -> Result<Pushed, Error> {
    check_is_branch(workspace.branch())?;
    gather::check_tags(workspace, &request.tags).await?;
    gather::check_can_push(workspace, request.message.is_some()).await?;
    if request.dry_run {
        return gather::would_push(workspace, &request, report).await;
    }
    let mut pushed = Pushed::default();
    if request.message.is_some() {
        gather::commit_for_push(workspace, &request, &mut pushed, report).await?;
        // A sequence of picks has more to do after its commit.
        gather::check_can_push(workspace, false).await?;
    }
    let mut attempts = Attempts::new("branch", request.retries);
    let attempt = loop {
        match push_once(workspace, (&request, beside_run), &mut pushed, report).await {
            Ok(attempt) => break attempt,
            Err(failed) => {
                let branch = workspace.branch();
                attempts.wait(workspace, branch, failed).await?;
            }
        }
    };
    (pushed.state, pushed.remote_commit) = match attempt {
        Attempt::Arrived(commit) => {
            pushed.tags = request.tags.clone();
            (State::Pushed, Some(commit))
        }
        Attempt::UpToDate(commit) => (State::UpToDate, Some(commit)),
        Attempt::Conflicts => (State::Conflicts, None),
    };
    pushed.attempts = attempts.count();
    if request.verbosity > Verbosity::Minimal {
        pushed.failures = Some(attempts.into_failures());
    }
    Ok(pushed)
}

async fn push_once(
    workspace: &Arc<Workspace>,
    (request, beside_run): (&Request, bool),
    pushed: &mut Pushed,
    report: &Reporter,
) -> Result<Attempt, Failed> {
    let remote = upstream::learn(workspace, report).await?;
    // A command that runs here may have gone elsewhere since.
    gather::check_can_push(workspace, false).await?;
    let mut lease = None;
    match stands_to(workspace, remote.as_ref()).await? {
        Standing::Same if request.tags.is_empty() => {
            let here = upstream::tip(workspace).await?;
            // It arrived with an attempt of which no answer came back.
            return match pushed.sent.as_ref() == Some(&here) {
                true => verify(workspace, &here, report).await,
                false => Ok(Attempt::UpToDate(here)),
            };
        }
        Standing::Same | Standing::Ahead => {}
        Standing::Rewritten if request.force || is_agent_branch(workspace.branch()) => {
            lease = remote.clone();
        }
        Standing::Rewritten => return Err(words::rewritten(workspace).into()),
        Standing::Behind | Standing::Apart => {
            let (Some(how), Some(upstream)) = (request.integrate.how(), &remote) else {
                return Err(words::not_integrated(workspace).into());
            };
            if beside_run {
                return Err(words::would_move_files(workspace).into());
            }
            if let Some(found) =
                verbs::pull::take_in(workspace, workspace.branch(), upstream, how, true).await?
            {
                pushed.conflicts = upstream::told(found, request.verbosity);
                return Ok(Attempt::Conflicts);
            }
            pushed.integrated = Some(upstream.clone());
        }
    }
    let commit = upstream::tip(workspace).await?;
    // What came was all that was missing.
    if remote.as_ref() == Some(&commit) && request.tags.is_empty() {
        return Ok(Attempt::UpToDate(commit));
    }
    gather::tell_outgoing(workspace, request, remote, pushed).await?;
    let mut updates = vec![Update {
        from: Some(commit.to_string()),
        to: workspace.branch().local_ref(),
        lease: lease.clone(),
    }];
    updates.extend(request.tags.iter().map(|tag| Update {
        from: Some(format!("refs/tags/{tag}")),
        to: format!("refs/tags/{tag}"),
        lease: None,
    }));
    pushed.sent = Some(commit.clone());
    pushed.replaced = lease;
    if let Err(no) = hand_over(workspace, &updates).await? {
        pushed.replaced = None;
        RemoteFailure::Rejected.count("push");
        return Err(Failed::Rejected(no));
    }
    verify(workspace, &commit, report).await
}

/// One push, alone on the store's way out.
pub(super) async fn hand_over(
    workspace: &Arc<Workspace>,
    updates: &[Update],
) -> Result<Result<(), String>, Error> {
    for update in updates {
        if let Some(name) = update.to.strip_prefix("refs/heads/") {
            check_is_branch(&BranchName::parse(name)?)?;
        }
    }
    let tips = updates.iter().filter_map(|update| update.from.clone());
    included::check_outgoing(workspace, tips.collect()).await?;
    let _network = workspace.repo().network().lock().await;
    workspace.repo().guard_store()?;
    let sent = updates.iter().filter_map(|update| update.from.clone());
    workspace.repo().lfs().upload(&Vec::from_iter(sent)).await?;
    let (git, store) = (workspace.repo().git(), workspace.repo().store());
    let pushed = push::push(git, store.path(), updates).await?;
    workspace.repo().tell(RepoChange::Pushed);
    Ok(pushed)
}

/// Uploads what a raw push of the branch needs to be there before it.
pub async fn upload_before_push(workspace: &Arc<Workspace>) -> Result<(), Error> {
    let tip = upstream::tip(workspace).await?;
    let _network = workspace.repo().network().lock().await;
    workspace.repo().guard_store()?;
    Ok(workspace.repo().lfs().upload(&[tip.to_string()]).await?)
}

async fn verify(
    workspace: &Arc<Workspace>,
    commit: &CommitId,
    report: &Reporter,
) -> Result<Attempt, Failed> {
    let commit = object_id(commit)?;
    let there = upstream::verify(workspace, workspace.branch(), commit, report);
    Ok(Attempt::Arrived(there.await?))
}

pub(super) async fn stands_to(
    workspace: &Arc<Workspace>,
    remote: Option<&CommitId>,
) -> Result<Standing, Error> {
    let remote = remote.map(object_id).transpose()?;
    workspace
        .with_repository(move |this, repo| {
            let local = git::head(repo)?.commit;
            Ok(push::standing(repo, this.branch(), local, remote)?)
        })
        .await
}
