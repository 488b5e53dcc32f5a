//! Is everything set as the store sets it? Many a setting changes what git writes; none of them is ours.

use super::{LeftToGit, is_there};
use crate::Repository;

/// What a store and its workspaces set, and what means nothing to a checkout.
const KNOWN: [&str; 5] = [
    "core.repositoryformatversion",
    "core.filemode",
    "core.bare",
    "core.logallrefupdates",
    "extensions.worktreeconfig",
];
const HARMLESS: [&str; 5] = ["branch.", "gc.", "maintenance.", "push.", "remote."];

/// An error if something is set that could change what a checkout writes.
pub(super) fn check(repo: &Repository) -> Result<(), LeftToGit> {
    let config = repo.git2().config()?;
    let mut entries = config.entries(None)?;
    while let Some(entry) = entries.next() {
        let name = String::from_utf8_lossy(entry?.name_bytes()).to_ascii_lowercase();
        if !KNOWN.contains(&name.as_str()) && !HARMLESS.iter().any(|known| name.starts_with(known))
        {
            return LeftToGit::unusual(format!("{name} is set"));
        }
    }
    if !config.get_bool("core.filemode")? {
        return LeftToGit::unusual("modes are not kept");
    }
    // The store takes it away, but not at every moment.
    match is_there(&repo.git2().commondir().join("info/attributes"))? {
        true => LeftToGit::unusual("there are attributes beside the tree"),
        false => Ok(()),
    }
}
