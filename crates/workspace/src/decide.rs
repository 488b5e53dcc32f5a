//! May files move? The rules of `sync`, without moving anything.

use std::sync::Arc;

use super::error::conflict;
use super::{Error, Workspace};
use crate::{settle, standing, submodules};
use branchyard_git::{self as git, Head, ObjectId, Repository, Seen};
use branchyard_model::{About, CommitId, Problem, SalvageReason, SyncMode, Warning};

/// What is known of the remote for a sync.
#[derive(Debug, Clone)]
pub(super) enum Remote {
    Head(CommitId),
    /// It was asked, and has no such branch.
    Absent,
    /// It could not be asked, and the caller said to go on.
    Unreachable,
}

#[derive(Debug)]
pub(super) enum Plan {
    /// The files are as they should be, or are to be left alone.
    Stay(About, Option<Warning>),
    Move {
        from: CommitId,
        to: CommitId,
    },
    /// To be moved whatever is there, once that is saved.
    Reset(CommitId, SalvageReason),
    /// Was parked while its name was taken upstream, which has the name again.
    Unpark,
}

pub(super) async fn plan(
    workspace: &Arc<Workspace>,
    mode: &SyncMode,
    remote: &Remote,
    stale: bool,
) -> Result<Plan, Error> {
    let (mode, remote) = (mode.clone(), remote.clone());
    workspace
        .blocking(move |this| decide(this, &mode, &remote, stale))
        .await
}

fn decide(
    workspace: &Workspace,
    mode: &SyncMode,
    remote: &Remote,
    stale: bool,
) -> Result<Plan, Error> {
    let repo = workspace.worktree().open()?;
    if *mode == SyncMode::Reset {
        return decide_reset(workspace, &repo, remote);
    }
    let head = git::head(&repo)?;
    standing::check_head(workspace, &repo, &head)?;
    let parked = git::parked_tip(&repo, &workspace.branch().dir())?.is_some();
    if parked && matches!(remote, Remote::Head(_)) {
        return Ok(Plan::Unpark);
    }
    let dirty = submodules::tracked_changes(workspace, &repo)?;
    if let Some(target) = cut_off_move(workspace, &repo, dirty)? {
        return Ok(Plan::Reset(target, SalvageReason::CutOff));
    }
    let mut about = standing::standing(workspace, &repo, Some(dirty))?;
    if let (SyncMode::Commit(commit), Remote::Absent | Remote::Unreachable) = (mode, remote)
        && (about.commit != *commit || work_in_the_way(&head, &about).is_some())
    {
        return Err(not_on_branch(workspace, commit).into());
    }
    let target = match (mode, remote) {
        (_, Remote::Unreachable) => {
            about.stale = true;
            return Ok(Plan::Stay(about, None));
        }
        (_, Remote::Absent) => return decide_absent(workspace, &repo, about, stale),
        (SyncMode::Commit(commit), Remote::Head(tip)) => {
            if !is_on(&repo, git::object_id(tip)?, commit)? {
                return Err(not_on_branch(workspace, commit).into());
            }
            commit
        }
        (_, Remote::Head(tip)) => tip,
    };
    match work_in_the_way(&head, &about) {
        None if about.commit == *target => {
            // However it came here (a push, say), the remote is now seen to have it.
            Seen(&workspace.branch().dir()).settle(&repo, head.commit)?;
            Ok(Plan::Stay(about, None))
        }
        None => Ok(Plan::Move {
            from: about.commit,
            to: target.clone(),
        }),
        Some(work) if matches!(mode, SyncMode::Commit(_)) => {
            Err(has_work(workspace, target, &work).into())
        }
        Some(work) => {
            let detail = format!(
                "left alone at {}: it has {work}; the remote is at {target}",
                about.commit
            );
            Ok(Plan::Stay(about, Some(Warning::new("left_alone", detail))))
        }
    }
}

/// The remote has no such branch: fine for one that was made here, an end for one that was there.
fn decide_absent(
    workspace: &Workspace,
    repo: &Repository,
    mut about: About,
    stale: bool,
) -> Result<Plan, Error> {
    if Seen(&workspace.branch().dir()).commits(repo)?.is_empty() {
        let warning = Warning::new(
            "not_on_remote",
            format!("{} is not on the remote yet", workspace.branch()),
        );
        return Ok(Plan::Stay(about, Some(warning)));
    }
    let gone = format!("{} was deleted on the remote", workspace.branch());
    if stale {
        about.stale = true;
        return Ok(Plan::Stay(about, Some(Warning::new("gone_upstream", gone))));
    }
    Err(conflict("gone_upstream", gone)
            .field("branch")
            .help("`stale: true` or `sync: none` builds what is still here; remove the workspace when it is not needed any more")
            .into())
}

fn not_on_branch(workspace: &Workspace, commit: &CommitId) -> Problem {
    let detail = format!(
        "{commit} is not known to be a commit of the remote's {}",
        workspace.branch()
    );
    conflict("commit_not_on_branch", detail).field("commit")
}

/// To the remote's head as it is known; nothing that is there matters, for it is saved first.
fn decide_reset(workspace: &Workspace, repo: &Repository, remote: &Remote) -> Result<Plan, Error> {
    let target = match remote {
        Remote::Head(tip) => Some(tip.clone()),
        Remote::Unreachable => git::read_ref(repo, &workspace.branch().remote_ref())?
            .and_then(|tip| CommitId::parse(&tip.to_string()).ok()),
        Remote::Absent => None,
    };
    let Some(target) = target else {
        let detail = format!("the remote has no {} to reset to", workspace.branch());
        return Err(conflict("gone_upstream", detail)
            .field("sync")
            .help("use `sync: none` to build what is here")
            .into());
    };
    if git::parked_tip(repo, &workspace.branch().dir())?.is_some() {
        return Ok(Plan::Unpark);
    }
    let head = match git::head(repo) {
        Err(git::Error::Unborn) => return Ok(Plan::Reset(target, SalvageReason::Reset)),
        head => head?,
    };
    let dirty = submodules::tracked_changes(workspace, repo)?;
    let mut about = standing::standing(workspace, repo, Some(dirty))?;
    about.stale = matches!(remote, Remote::Unreachable);
    let is_there = about.commit == target
        && head.branch.as_deref() == Some(workspace.branch().as_str())
        && work_in_the_way(&head, &about).is_none();
    let has_stragglers = || Ok::<_, Error>(!settle::stragglers(workspace, &target)?.is_empty());
    if is_there && (settle::is_settled(workspace, &target) || !has_stragglers()?) {
        Seen(&workspace.branch().dir()).settle(repo, head.commit)?;
        return Ok(Plan::Stay(about, None));
    }
    Ok(Plan::Reset(target, SalvageReason::Reset))
}

/// Where a move leads that never came to its end: changes may be the move's own then, and what is
/// there is neither the old tree nor the new.
pub(super) fn cut_off_move(
    workspace: &Workspace,
    repo: &Repository,
    dirty: bool,
) -> Result<Option<CommitId>, Error> {
    let target = Seen(&workspace.branch().dir()).move_under_way(repo)?;
    Ok(target
        .filter(|_| dirty)
        .and_then(|target| CommitId::parse(&target.to_string()).ok()))
}

pub(super) fn has_work(workspace: &Workspace, target: &CommitId, work: &str) -> Problem {
    let detail = format!(
        "the workspace of {} cannot be at exactly {target}: it has {work}",
        workspace.branch()
    );
    conflict("workspace_has_work", detail)
        .field("commit")
        .help("commit and push the work, or build another branch")
}

/// The remote's head as last seen, if `commit` is already known to be on it: then nobody need be asked.
pub(super) async fn remote_head_with(
    workspace: &Arc<Workspace>,
    commit: CommitId,
) -> Result<Option<CommitId>, Error> {
    let Some(head) = standing::remote_tip(workspace).await? else {
        return Ok(None);
    };
    workspace
        .blocking(move |this| {
            let known = is_on(&this.repo().open_store()?, git::object_id(&head)?, &commit)?;
            Ok(known.then_some(head))
        })
        .await
}

fn is_on(repo: &Repository, tip: ObjectId, commit: &CommitId) -> Result<bool, Error> {
    let id = git::object_id(commit)?;
    Ok(git::has_commit(repo, id) && git::is_ancestor(repo, id, tip)?)
}

fn work_in_the_way(head: &Head, about: &About) -> Option<String> {
    if let Some(operation) = head.operation {
        return Some(format!("a {operation} under way"));
    }
    if about.dirty == Some(true) {
        return Some("changes to tracked files".to_owned());
    }
    (about.ahead > 0).then(|| format!("{} commit(s) that the remote does not have", about.ahead))
}
