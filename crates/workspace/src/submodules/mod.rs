//! The submodules of a workspace: they follow its commit, and what somebody does in one is work like what is done beside it.

mod settled;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{Error, Workspace};
use branchyard_git::{
    self as git, LookedSubmodule, Repository, ScanResult, Submodule, UntrackedEntry,
};

pub(super) use settled::{Settled, forget, left_empty};

/// Why one is left empty that is in the tree alone.
pub(super) const UNNAMED: &str = ".gitmodules does not name it";
/// So many submodules are named in a warning; the others are counted.
const NAMED: usize = 5;

/// The submodules that are filled, each after the one that it is in.
#[derive(Debug, Default)]
pub(super) struct SubmodulesLook(Vec<LookedSubmodule>);

impl SubmodulesLook {
    pub(super) fn of(workspace: &Workspace) -> Result<Self, Error> {
        Ok(Self(git::look_at_submodules(workspace.worktree())?))
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &LookedSubmodule> {
        self.0.iter()
    }

    /// The one whose directory this is.
    pub(super) fn at(&self, path: &Path) -> Option<&LookedSubmodule> {
        self.0
            .iter()
            .find(|looked| looked.submodule().path() == path)
    }

    /// The innermost one that this path is in.
    pub(super) fn around(&self, path: &Path) -> Option<&LookedSubmodule> {
        let mut from_within = self.0.iter().rev();
        from_within.find(|looked| path.starts_with(looked.submodule().path()))
    }

    /// Those that somebody worked in.
    pub(super) fn with_work(&self) -> impl Iterator<Item = (&LookedSubmodule, &str)> {
        let looked = self.0.iter();
        looked.filter_map(|looked| Some((looked, looked.work()?)))
    }

    /// The paths of those that nobody worked in. Whether such a one is at the commit that is recorded is our business.
    pub(super) fn untouched(&self) -> HashSet<PathBuf> {
        let untouched = self.0.iter().filter(|looked| looked.work().is_none());
        untouched
            .map(|looked| looked.submodule().path().to_owned())
            .collect()
    }

    /// What is not tracked, with what there is in submodules in their place.
    pub(super) fn expand(&self, untracked: Vec<UntrackedEntry>) -> Vec<UntrackedEntry> {
        let is_none_of_them = |entry: &UntrackedEntry| self.at(&entry.path).is_none();
        let beside = untracked.into_iter().filter(is_none_of_them);
        let within = self.0.iter().flat_map(|looked| looked.untracked().iter());
        beside.chain(within.cloned()).collect()
    }
}

/// Whether the last move of a submodule was cut off.
pub(super) fn is_half_moved(workspace: &Workspace) -> Result<bool, Error> {
    let all = Submodule::all(workspace.worktree())?;
    Ok(all.iter().any(Submodule::is_half_moved))
}

/// Whether tracked files or the index differ from HEAD, in submodules or beside them.
pub(super) fn tracked_changes(workspace: &Workspace, repo: &Repository) -> Result<bool, Error> {
    let submodules = SubmodulesLook::of(workspace)?;
    Ok(submodules.with_work().next().is_some()
        || git::tracked_changes_beside(repo, &submodules.untouched())?)
}

/// What is not tracked, in submodules or beside them.
pub(super) fn untracked_entries(
    workspace: &Workspace,
    repo: &Repository,
) -> Result<Vec<UntrackedEntry>, Error> {
    let submodules = SubmodulesLook::of(workspace)?;
    Ok(submodules.expand(git::untracked_entries(repo)?))
}

/// Whether tracked files or the index differ from HEAD, and what is not tracked, in submodules or beside them.
pub(super) fn scan(workspace: &Workspace, repo: &Repository) -> Result<ScanResult, Error> {
    let submodules = SubmodulesLook::of(workspace)?;
    let scan = git::scan_beside(repo, &submodules.untouched())?;
    Ok(ScanResult {
        changed: scan.changed || submodules.with_work().next().is_some(),
        untracked: submodules.expand(scan.untracked),
    })
}

/// What is told of submodules that are left empty.
pub(super) fn empty(left: &[(PathBuf, String)]) -> String {
    format!("submodules are left empty: {}", named(left))
}

/// The first of them with what is told of each, and how many more there are.
pub(super) fn named(submodules: &[(PathBuf, String)]) -> String {
    let named = submodules.iter().take(NAMED);
    let named: Vec<_> = named
        .map(|(path, why)| format!("{} ({why})", path.display()))
        .collect();
    let more = match submodules.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", named.join(", "))
}
