//! A snapshot of a workspace: its files as a commit that a pipeline can be run at, while whoever works there goes on. It has
//! what a commit of everything would have, and so the same tree.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::no_workspace;
use crate::left_out::left_out;
use crate::verbs::in_gits_words;
use crate::{Error, Workspace};
use branchyard_git::verbs::{Named, conflicted, stash, unresolved};
use branchyard_git::{self as git, ObjectId};
use branchyard_model::PipelineId;

/// The commit of a pipeline's snapshot; that of the workspace itself where nothing has changed.
pub async fn snapshot(workspace: &Arc<Workspace>, id: PipelineId) -> Result<ObjectId, Error> {
    if !workspace.exists() {
        return Err(no_workspace(workspace.branch()).into());
    }
    let _registry = workspace.repo().registry().lock().await;
    let _files = workspace.share_files().await;
    let left_out = workspace
        .with_repository(|this, repo| {
            let open = conflicted(repo)?;
            match open.is_empty() {
                true => left_out(this, repo),
                false => Err(unresolved(&open).into()),
            }
        })
        .await?;
    let (git, worktree) = (workspace.repo().git(), workspace.worktree());
    let everything = Named::new(Vec::new());
    let listed = stash::list(git, worktree, &everything, true).await;
    let mut changes = listed.map_err(in_gits_words)?;
    // Git tells of a repository within as of a directory.
    let is_repository = |path: &PathBuf| path.as_os_str().as_bytes().ends_with(b"/");
    changes
        .new
        .retain(|path| !left_out.covers(path) && !is_repository(path));
    let made = git::snapshot(git, worktree, &changes, id).await;
    made.map_err(in_gits_words)
}
