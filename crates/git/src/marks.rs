//! Marks in git's registration of a worktree: git calls it locked and leaves it alone, and after a crash we
//! know what was going on.

use std::fs;

use super::fixed_file::write_whole;
use super::{Error, Worktree};
use crate::ObjectId;
use branchyard_runtime::disk::if_there;

/// The mark of a worktree whose files are not whole yet; after a crash it says whose that is.
pub(super) const PREPARING: &str = "preparing";
/// The mark of a worktree that is being taken away, followed by where its branch was.
const REMOVING: &str = "removing";

impl Worktree {
    pub(super) fn mark(&self) -> Option<String> {
        let reason = fs::read_to_string(self.admin().join("locked")).ok()?;
        let reason = reason.trim();
        (reason == PREPARING || reason.starts_with(REMOVING)).then(|| reason.to_owned())
    }

    /// Registered, but its files were never completed.
    pub fn is_preparing(&self) -> bool {
        self.mark().is_some_and(|mark| mark == PREPARING)
    }

    /// Its files are all there.
    pub fn mark_whole(&self) -> Result<(), Error> {
        fs::remove_file(self.admin().join("locked"))
            .map_err(Error::io("mark the workspace as whole"))
    }

    /// A removal was begun, and cut off.
    pub fn is_removing(&self) -> bool {
        self.mark().is_some_and(|mark| mark.starts_with(REMOVING))
    }

    /// Where the branch was when its removal was begun.
    pub fn removing_from(&self) -> Option<String> {
        let tip = self.mark()?.strip_prefix(REMOVING)?.trim().to_owned();
        (!tip.is_empty()).then_some(tip)
    }

    /// Marks it as going, with where its branch was when that was decided.
    pub fn mark_removing(&self, tip: Option<ObjectId>) -> Result<(), Error> {
        let tip = tip.map(|tip| tip.to_string()).unwrap_or_default();
        write_whole(&self.admin().join("locked"), format!("{REMOVING} {tip}"))
            .map_err(Error::io("mark the worktree as going"))
    }

    /// Removes what is the yard's own in the registration, not git's nor a person's.
    pub fn drop_own_files(&self) -> Result<(), Error> {
        for name in ["locked", "branchyard.json"] {
            let removed = if_there(fs::remove_file(self.admin().join(name)));
            removed.map_err(Error::io("forget the worktree"))?;
        }
        Ok(())
    }

    pub fn unmark_removing(&self) -> Result<(), Error> {
        fs::remove_file(self.admin().join("locked"))
            .map_err(Error::io("mark the worktree as staying"))
    }
}
