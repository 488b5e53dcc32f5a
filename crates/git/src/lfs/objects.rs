//! The contents that a store has, where git-lfs puts them.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::LfsPointer;
use crate::plain_file::open_plain;
use branchyard_runtime::disk::if_there;

#[derive(Debug, Clone)]
pub struct LfsObjects(PathBuf);

impl LfsObjects {
    pub fn of(store: &Path) -> Self {
        Self(store.join("lfs/objects"))
    }

    /// Whether it has none at all.
    pub fn is_empty(&self) -> bool {
        fs::read_dir(&self.0).map_or(true, |mut entries| entries.next().is_none())
    }

    /// Whether it seems to have that content: so it has, or loses it when it is read.
    pub fn has(&self, pointer: &LfsPointer) -> bool {
        let meta = fs::symlink_metadata(self.path(pointer));
        meta.is_ok_and(|meta| meta.is_file() && meta.len() == pointer.size())
    }

    pub(super) fn open(&self, pointer: &LfsPointer) -> io::Result<Option<File>> {
        open_plain(&self.path(pointer))
    }

    /// Drops what has the name of a content and is not that content.
    pub(super) fn drop_damaged(&self, pointer: &LfsPointer) -> io::Result<()> {
        tracing::warn!(path = %self.path(pointer).display(), "an LFS object was damaged, and is dropped");
        if_there(fs::remove_file(self.path(pointer))).map(drop)
    }

    fn path(&self, pointer: &LfsPointer) -> PathBuf {
        let hash = pointer.hash();
        self.0.join(&hash[..2]).join(&hash[2..4]).join(hash)
    }
}
