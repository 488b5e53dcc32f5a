//! Which submodules of a detached worktree have files of their own: those stay where they are when it is moved, and are moved
//! after it.

use std::collections::{HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::DetachedWorktree;
use crate::fixed_file::is_exactly;
use crate::submodule::record::SUBMODULES;

#[derive(Debug, Default)]
pub(super) struct FilledSubmodules {
    /// By path, what the file says that leads to the registration.
    links: HashMap<Vec<u8>, String>,
    /// The names of the registrations in that of the worktree.
    registrations: HashSet<OsString>,
}

impl FilledSubmodules {
    /// Those that are directly in `outer`.
    pub(super) fn of(outer: &DetachedWorktree, submodules: &[DetachedWorktree]) -> Self {
        let links = submodules.iter().filter_map(|inner| {
            let path = inner.path.strip_prefix(&outer.path).ok()?;
            Some((path.as_os_str().as_bytes().to_owned(), inner.link()))
        });
        let within = outer.registration.join(SUBMODULES);
        let registrations = submodules
            .iter()
            .filter(|inner| inner.registration.parent() == Some(&within))
            .filter_map(|inner| Some(inner.registration.file_name()?.to_owned()));
        Self {
            links: links.collect(),
            registrations: registrations.collect(),
        }
    }

    /// Whether the registration of this name is that of one of them.
    pub(super) fn is_registered(&self, name: &OsStr) -> bool {
        self.registrations.contains(name)
    }

    /// Whether an open directory is that of the submodule at `path`.
    pub(super) fn includes(&self, path: &[u8], dir: &OwnedFd) -> bool {
        // By its descriptor: a link in its place is not followed.
        let there = format!("/proc/self/fd/{}/.git", dir.as_raw_fd());
        let link = self.links.get(path);
        link.is_some_and(|link| is_exactly(Path::new(&there), link))
    }
}
