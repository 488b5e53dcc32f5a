//! Report files that a command wrote. None of them is tracked: what git has is not the command's.

use std::fs::File;
use std::path::PathBuf;

use jiff::Timestamp;

use super::regular;
use crate::written_since::later_than;
use crate::{Error, Workspace};
use branchyard_config::FileGlobs;
use branchyard_git::{self as git, UntrackedKind};

/// A command that writes more of them is asked to say which are meant.
const MOST_REPORTS: usize = 1000;
/// So many untracked files and directories are looked at.
const MOST_LOOKED_AT: usize = 500_000;
/// Other people's packages have no reports of this command.
const PACKAGES: &str = "node_modules";

/// A report, or why it cannot be read.
pub(super) type Report = (PathBuf, Result<File, Error>);

/// The files of `globs` that were written since then, in the order of their paths. Blocks.
pub fn reports_since(
    workspace: &Workspace,
    globs: &FileGlobs,
    since: Timestamp,
) -> Result<Vec<Report>, Error> {
    let is_later = later_than(since);
    let mut pending = git::untracked_entries(&workspace.worktree().open()?)?;
    let (mut found, mut looked_at) = (Vec::new(), 0);
    while let Some(entry) = pending.pop() {
        looked_at += 1;
        if looked_at > MOST_LOOKED_AT || found.len() == MOST_REPORTS {
            break;
        }
        match entry.kind {
            UntrackedKind::Repository => {}
            UntrackedKind::Directory if entry.path.ends_with(PACKAGES) => {}
            UntrackedKind::Directory => {
                pending.extend(git::untracked_in(workspace.path(), &entry.path)?);
            }
            UntrackedKind::File if is_later(&entry.meta) && globs.matches(&entry.path) => {
                let file = regular::open_unfollowed(workspace, &entry.path);
                found.push((entry.path, file));
            }
            UntrackedKind::File => {}
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}
