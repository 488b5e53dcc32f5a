//! A whole file of a workspace, opened to be read.

use std::fs::File;
use std::sync::Arc;

use super::Stamp;
use super::beneath::FileRoot;
use super::regular::open_regular;
use crate::{Error, Workspace};

/// A file that was opened: what becomes of its name meanwhile does not matter to who reads it.
#[derive(Debug)]
pub struct RawFile {
    pub file: File,
    pub size: u64,
    pub stamp: Stamp,
}

/// Opens a regular file of any size. The caller shares the files.
pub async fn open(workspace: &Arc<Workspace>, path: String) -> Result<RawFile, Error> {
    workspace
        .looking(move |this| {
            let root = FileRoot::of(this)?;
            let path = root.relative(&path)?;
            let (file, _) = open_regular(&root.open(&path)?, &path, root.included())?;
            // Both of one look: a build may be writing it.
            let meta = file.metadata().map_err(Error::io("look at a file"))?;
            let (size, stamp) = (meta.len(), Stamp::of(&meta));
            Ok(RawFile { file, size, stamp })
        })
        .await
}
