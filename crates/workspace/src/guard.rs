//! Git's own files are as we left them: what a build could have planted there is undone before git runs.

use std::fs;

use crate::error::conflict;
use crate::{Error, Report, Reporter, Workspace};

/// Undoes what somebody planted in git's own files, of the store and of this workspace, which
/// exists. To be called before every git command that runs here: without it, git would start
/// whatever programs those files name.
pub fn guard(workspace: &Workspace, report: &Reporter) -> Result<(), Error> {
    let mut restored = workspace.repo().guard_store_files()?;
    restored.extend(mend_links(workspace)?);
    if let Some(warning) = workspace.repo().tampered(&restored) {
        report(Report::Warning(warning));
    }
    Ok(())
}

/// Puts back the files that tie the workspace to its store. A repository that somebody made in their
/// place is kept in the quarantine.
pub(crate) fn mend_links(workspace: &Workspace) -> Result<Vec<&'static str>, Error> {
    let (inode, made) = (workspace.worktree().inode(), workspace.record());
    let made = made.map(|record| record.inode);
    if made.flatten().is_some_and(|made| Some(made) != inode)
        && let Some(other) = workspace.worktree().claimed_by_another()
    {
        let place = workspace.path().display();
        let detail = format!("{place} is the directory that was made for the workspace {other}");
        return Err(conflict("path_occupied", detail)
            .field("branch")
            .help("move both directories back to where they were")
            .into());
    }
    let link = workspace.path().join(".git");
    if fs::symlink_metadata(&link).is_ok_and(|meta| meta.is_dir()) {
        let name = format!(
            "{}-{}",
            workspace.repo().name().dir(),
            workspace.branch().dir()
        );
        let why = "a repository that stood in the place of a workspace's link to its store";
        let moved = workspace
            .repo()
            .quarantine()
            .take(&link, &name, why)
            .map_err(Error::io("move a repository to the quarantine"))?;
        tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), to = %moved.display(), "a repository inside a workspace's own place is moved to the quarantine");
    }
    let restored = workspace
        .worktree()
        .guard()
        .map_err(Error::io("check the workspace"))?;
    if made.is_some_and(|made| made != inode)
        && let Err(error) = workspace.change_record(|record| record.inode = inode)
    {
        tracing::debug!(repo = %workspace.repo().name(), branch = %workspace.branch(), %error, "which directory it is, is not written down");
    }
    Ok(restored)
}
