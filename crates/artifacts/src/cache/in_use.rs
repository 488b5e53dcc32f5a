//! Which entries are being read, so that none goes meanwhile.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;

use branchyard_runtime::disk::{Trash, if_there};
use parking_lot::Mutex;

use super::entry::CacheEntry;

/// By how many readers.
#[derive(Debug, Default)]
pub(super) struct EntriesInUse(Mutex<HashMap<PathBuf, usize>>);

/// An entry that stays until this is dropped.
#[derive(Debug)]
pub(super) struct HeldEntry<'a> {
    in_use: &'a EntriesInUse,
    pub(super) entry: CacheEntry,
}

impl EntriesInUse {
    /// The entry, which counts as used now; `None` if it has gone.
    pub(super) fn hold(&self, entry: CacheEntry) -> io::Result<Option<HeldEntry<'_>>> {
        let mut in_use = self.0.lock();
        if !entry.touch()? {
            return Ok(None);
        }
        *in_use.entry(entry.dir.clone()).or_default() += 1;
        Ok(Some(HeldEntry {
            in_use: self,
            entry,
        }))
    }

    /// Lets go of an entry; false if it is being read.
    pub(super) fn discard(&self, dir: &PathBuf, trash: &Trash) -> io::Result<bool> {
        let in_use = self.0.lock();
        if in_use.contains_key(dir) {
            return Ok(false);
        }
        if_there(trash.take(dir, &"cache")).map(|_| true)
    }
}

impl Drop for HeldEntry<'_> {
    fn drop(&mut self) {
        let mut in_use = self.in_use.0.lock();
        if let Some(count) = in_use.get_mut(&self.entry.dir) {
            *count -= 1;
            if *count == 0 {
                in_use.remove(&self.entry.dir);
            }
        }
    }
}
