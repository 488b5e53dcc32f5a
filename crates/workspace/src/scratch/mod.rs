//! Scratch worktrees: those without a branch, which a job of a pipeline has to itself. They hold no user's work, need none of
//! a workspace's locks, and go when room is wanted.
//!
//! The pool leases them, per repo and first come first served. One that was given back stays for the next lease, until the
//! reaper takes it.

mod held;
mod lease;
mod leased;
mod pool;
mod prepare;
mod queue;
mod reap;
mod set_up;
mod shared;
mod submodules;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::fs;

use crate::repos::Repo;
use branchyard_git::DetachedWorktree;

pub use held::HeldScratch;
pub use lease::ScratchLease;
pub use pool::{ScratchPool, ScratchUse};
pub(crate) use reap::IdleScratch;
pub use set_up::{SetupMade, WantedSetup};

/// Whether a directory beside a store, or a registration in it, is that of a scratch worktree.
pub(crate) fn is_scratch(dir: &str) -> bool {
    DetachedWorktree::number_of(dir).is_some()
}

/// The numbers of those that are on disk, half-made ones included.
fn on_disk(repo: &Repo) -> BTreeSet<u32> {
    let registrations = repo.store().path().join("worktrees");
    let entries = [repo.home(), &registrations].map(fs::read_dir).into_iter();
    let names = entries.flatten().flatten().flatten();
    names
        .filter_map(|entry| DetachedWorktree::number_of(entry.file_name().to_str()?))
        .collect()
}
