//! Is a copy, brought to its own commit, what a checkout would have made?

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, statat};

use super::tracked::TYPE;
use super::{Copied, disturbed};
use crate::files::beneath;
use crate::{Error, Workspace};
use branchyard_git::{FileStat, GITLINK, IndexFile, TreeChange};

/// An error unless the index has every path that it should have, and what differed is on disk as the index
/// says. Of the rest each file was looked at as it was copied.
pub(super) fn prove(workspace: &Workspace, copied: &Copied) -> Result<(), Error> {
    let read = IndexFile::read(&workspace.worktree().admin().join("index"));
    let Some(index) = read.map_err(Error::io("read the index of a copy"))? else {
        return Err(disturbed("its index is not a plain one"));
    };
    let changes = &copied.difference.changes;
    let comes = changes.iter().filter(|change| !change.was).count();
    let goes = changes.iter().filter(|change| change.is.is_none()).count();
    let root = beneath::open_root(workspace)?;
    let is_complete = index.entries().len() + goes == copied.tracked + comes;
    if is_complete && changes.iter().all(|change| is_done(&root, &index, change)) {
        return Ok(());
    }
    Err(disturbed(
        "what differs was not checked out as it should be",
    ))
}

fn is_done(root: &OwnedFd, index: &IndexFile, change: &TreeChange) -> bool {
    let entry = index.find(&change.path);
    let stat = statat(root, &change.path[..], AtFlags::SYMLINK_NOFOLLOW);
    match (change.is, entry) {
        (None, None) => true,
        (Some(id), Some(entry)) => {
            let is_true = entry.mode() & TYPE == GITLINK
                || stat.is_ok_and(|stat| FileStat::of(&stat) == index.stat(entry));
            index.id(entry) == Some(id) && is_true
        }
        _ => false,
    }
}
