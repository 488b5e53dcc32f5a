//! A workspace that was never completed, because its making failed or the daemon was killed at it. It is taken away, but
//! for files that people have put there meanwhile.

use std::fs;
use std::path::Path;

use super::{Error, Workspace};
use branchyard_git as git;
use branchyard_runtime::disk::Moment;

const WHY: &str = "put into a workspace while it was being made, which failed";

/// Takes away what there is of the workspace's directory, at once: most likely the disk is full, and that is what
/// filled it.
pub(super) fn take_half_made(workspace: &Workspace) -> Result<(), Error> {
    if workspace.path().symlink_metadata().is_err() {
        return Ok(());
    }
    let (trash, dir) = (&workspace.yard().trash, workspace.branch().dir());
    let begun = workspace.worktree().begun();
    // Out of reach first: a program that saves by path fails from here on.
    let aside = trash
        .set_aside(workspace.path(), &dir)
        .map_err(Error::io("take a half-made workspace away"))?;
    // What a link leads to is not the workspace's.
    let is_dir = fs::symlink_metadata(&aside).is_ok_and(|meta| meta.is_dir());
    if let Some(begun) = begun.filter(|_| is_dir) {
        keep_strangers(workspace, &aside, begun)?;
    }
    let gone = match is_dir {
        true => fs::remove_dir_all(&aside),
        false => fs::remove_file(&aside),
    };
    gone.map_err(Error::io("delete a half-made workspace"))
}

fn keep_strangers(workspace: &Workspace, aside: &Path, begun: Moment) -> Result<(), Error> {
    let strangers = git::strangers(workspace.worktree(), aside, begun)?;
    if strangers.is_empty() {
        return Ok(());
    }
    let name = format!(
        "{}-{}",
        workspace.repo().name().dir(),
        workspace.branch().dir()
    );
    let keep = || {
        let room = workspace
            .repo()
            .quarantine()
            .make_room(&name, workspace.path(), WHY)?;
        for path in &strangers {
            let to = room.join("files").join(path);
            fs::create_dir_all(to.parent().unwrap_or(&room))?;
            fs::rename(aside.join(path), to)?;
        }
        Ok(room)
    };
    let room = keep().map_err(Error::io("keep what people put into a half-made workspace"))?;
    tracing::warn!(repo = %workspace.repo().name(), branch = %workspace.branch(), files = strangers.len(), room = %room.display(), "kept: {WHY}");
    Ok(())
}
