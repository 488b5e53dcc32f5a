//! A directory that is known by more than its name.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct KnownDir {
    path: PathBuf,
    /// Its device and inode.
    directory: Option<(u64, u64)>,
}

impl KnownDir {
    pub fn of(path: &Path) -> Self {
        Self {
            directory: directory(path),
            path: path.to_owned(),
        }
    }

    /// Whether the path still leads to the same directory. Another may be in its place, a copy of it perhaps.
    pub fn is_same(&self) -> bool {
        directory(&self.path) == self.directory
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn directory(path: &Path) -> Option<(u64, u64)> {
    let meta = fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}
