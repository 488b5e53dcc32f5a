//! Another commit of a submodule: staged, and its files put there where nobody worked in them.

use std::path::Path;
use std::sync::Arc;

use super::{put_at, stays};
use crate::error::conflict;
use crate::repos::FoundSubmodule;
use crate::submodules::SubmodulesLook;
use crate::work::{self, Look};
use crate::{Error, Report, Reporter, Workspace};
use branchyard_git::verbs::submodule::record;
use branchyard_git::{self as git, DetachedWorktree, Submodule};
use branchyard_model::{CommitId, ErrorKind, Problem, Warning};
use branchyard_runtime::disk::Moment;

/// Stages `commit` of the submodule at `path`, or the one that is checked out there, and returns it. The caller holds the
/// workspace and its files.
pub(crate) async fn set(
    workspace: &Arc<Workspace>,
    path: &Path,
    commit: Option<CommitId>,
    report: &Reporter,
) -> Result<CommitId, Error> {
    if let Some(run) = workspace.helpers().first() {
        let detail = format!("run {run} is at work here, in the background");
        return Err(conflict("workspace_in_use", detail).field("branch").into());
    }
    let (found, commit) = find(workspace, path, commit).await?;
    found.store.bring(&commit, &found.path).await?;
    let (git, dir) = (workspace.repo().git(), workspace.path());
    record(git, dir, path, &commit).await?;
    let to = FoundSubmodule {
        commit: commit.clone(),
        ..found
    };
    let looked_at = Moment::now();
    let goal = to.clone();
    let plan = workspace.blocking(move |this| way(this, &goal)).await?;
    match plan {
        Way::There => {}
        Way::Free(submodule, filled) => {
            put_at(workspace, &submodule, &to, (&filled, looked_at)).await?;
        }
        Way::Taken(why) => {
            let detail = format!("{} stays where it is: {why}", path.display());
            report(Report::Warning(Warning::new("left_alone", detail)));
        }
    }
    Ok(commit)
}

/// Where the submodule is from, and the commit that is to be recorded.
async fn find(
    workspace: &Arc<Workspace>,
    path: &Path,
    commit: Option<CommitId>,
) -> Result<(FoundSubmodule, CommitId), Error> {
    let head = workspace
        .with_repository(|_, repo| Ok(git::head(repo)?.commit))
        .await?;
    let repo = workspace.repo();
    let found = repo
        .submodules()
        .bring(repo.store(), &git::commit_id(head)?)
        .await?;
    let asked = path.display().to_string();
    let states = workspace.blocking(|this| Ok(git::submodule_states(this.worktree())?));
    let own = workspace.with_repository(|_, repo| Ok(git::submodules(repo)?));
    let (own, states) = (own.await?, states.await?);
    let filled = found.filled.iter().find(|found| found.path == path);
    let Some(filled) = filled.filter(|_| own.contains(path)) else {
        let empty = found.left_empty.iter().find(|(empty, _)| empty == path);
        return Err(match empty {
            Some((_, why)) => conflict("submodule_refused", format!("{asked}: {why}")),
            None => Problem::new(
                ErrorKind::NotFound,
                "no_such_submodule",
                format!("{asked} is no submodule of this branch's commit"),
            )
            .help("git_submodule with `sync` lists them; a new one is made by `git submodule add` on a machine of one's own"),
        }
        .field("path")
        .into());
    };
    let present = states.into_iter().find(|state| state.path == asked);
    let present = present.and_then(|state| state.present);
    let commit = commit.or(present).ok_or_else(|| {
        Problem::unprocessable("commit", "nothing is checked out there: name a commit")
    })?;
    Ok((filled.clone(), commit))
}

/// Whether files can be put at a commit.
enum Way {
    There,
    /// Beside these, which are filled.
    Free(Box<Submodule>, Vec<DetachedWorktree>),
    /// Not, and why.
    Taken(String),
}

fn way(workspace: &Workspace, to: &FoundSubmodule) -> Result<Way, Error> {
    let worktree = workspace.worktree();
    let submodule = Submodule::new(worktree, &to.path, to.store.url());
    if submodule.is_linked() && submodule.is_at(&to.commit) && !submodule.is_half_moved() {
        // What somebody checked out is what is recorded now.
        submodule.adopt(&to.commit)?;
        return Ok(Way::There);
    }
    let looked = SubmodulesLook::of(workspace)?;
    let why = match looked.at(&to.path) {
        Some(here) => {
            let belongings = work::belongings(workspace, &worktree.open()?, Look::Whole)?;
            stays(here, &submodule, &to.commit, &belongings)?
        }
        None => {
            let has_room = submodule.has_room_for(&to.commit)?;
            (!has_room).then(|| "something else is in its place".to_owned())
        }
    };
    let filled = looked.iter().map(|other| other.submodule());
    let filled = filled.filter(|other| is_within(other.path(), &to.path));
    Ok(match why {
        Some(why) => Way::Taken(why),
        None => Way::Free(
            Box::new(submodule),
            filled.map(|it| it.worktree().clone()).collect(),
        ),
    })
}

fn is_within(path: &Path, outer: &Path) -> bool {
    path != outer && path.starts_with(outer)
}
