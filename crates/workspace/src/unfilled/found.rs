//! What was found missing in a workspace, and when that has to be looked for again.

use std::path::PathBuf;

use crate::lfs::LfsPointers;

/// What is missing.
#[derive(Debug, Default)]
pub(crate) struct Unfilled {
    /// Submodules, and why they are empty.
    pub submodules: Vec<(PathBuf, String)>,
    pub pointers: Vec<LfsPointers>,
}

/// What tells one index from another: git writes it anew whenever it changes.
pub(crate) type IndexMark = Option<(u64, u64, i64, i64)>;
/// Of the workspace and of each submodule that is filled.
pub(crate) type UnfilledMark = Vec<IndexMark>;
