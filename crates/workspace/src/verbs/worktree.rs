//! The workspaces of a repo, as git has them.

use std::fs;
use std::sync::Arc;

use crate::blocking::blocking;
use crate::repos::Repo;
use crate::{Error, Workspace, Workspaces};
use branchyard_git as git;
use branchyard_git::verbs::Verbosity;
use branchyard_git::verbs::worktree::{HOW, Request, WorktreeItem, Worktrees};
use branchyard_model::{BranchName, CommitId};

/// All of them, whoever uses them.
pub async fn worktrees(
    workspaces: &Workspaces,
    repo: &Arc<Repo>,
    branches: Vec<BranchName>,
    (current, request): (BranchName, Request),
) -> Result<Worktrees, Error> {
    let found = branches.into_iter();
    let found: Vec<_> = found
        .map(|branch| workspaces.look_at(repo, &branch))
        .collect();
    blocking(move || {
        let items: Vec<_> = found
            .iter()
            .map(|found| as_git_has_it(found, &current))
            .collect();
        Ok(Worktrees {
            total: items.len(),
            worktrees: items,
            how: (request.verbosity > Verbosity::Minimal).then(|| HOW.to_owned()),
        })
    })
    .await
}

fn as_git_has_it(workspace: &Workspace, current: &BranchName) -> WorktreeItem {
    // One that cannot be read is listed all the same: somebody has to see to it.
    let head = workspace
        .worktree()
        .open()
        .and_then(|repo| git::head(&repo))
        .ok();
    let locked = fs::read_to_string(workspace.worktree().admin().join("locked")).ok();
    WorktreeItem {
        of: workspace.branch().clone(),
        path: workspace.path().to_string_lossy().into_owned(),
        head: head
            .as_ref()
            .and_then(|head| CommitId::parse(&head.commit.to_string()).ok()),
        detached: head.is_some_and(|head| head.branch.is_none()),
        current: workspace.branch() == current,
        locked: locked.map(|why| why.trim().to_owned()),
        prunable: !workspace.worktree().has_directory(),
        holder: workspace.queue().holder(),
    }
}
