//! Salvage: all work of a workspace as one commit, made without touching its index or its files, and put
//! back byte for byte.
//!
//! The commit's tree has:
//!
//! | path | what it is |
//! | --- | --- |
//! | `salvage.json` | the [`Manifest`] |
//! | `worktree/` | the files as they were: tracked, untracked and ignored, without any filter |
//! | `index` | the index, as a file |
//! | `index-tree/`, `stages/1…3/` | what the index names, so that it stays there |
//! | `admin/` | git's own files about the workspace: HEAD, its log, an operation under way |
//! | `objects/` | trees and blobs that those files name |
//!
//! Its parents are the commits that HEAD, the branch, the stashes and git's own files name. What git
//! does not hold well (repositories within, submodules) is in an archive beside; permissions, extended attributes, empty
//! directories and named pipes are in the manifest. Sockets and devices cannot be saved, and are named.

mod archive;
mod attributes;
mod files;
mod listing;
mod named;
mod proof;
mod restore;
mod save;

use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use git2::Oid;
use serde::{Deserialize, Serialize};

use super::{Error, read_ref};
use crate::Repository;
use branchyard_model::{CommitId, Salvage, SalvageId};

pub use archive::settle_archives;
use attributes::Attribute;
pub use listing::{forget_salvage, salvaged_file, salvaged_files, salvages};
pub(super) use named::ids_in;
pub use named::left_behind;
pub use restore::put_back;
pub use save::{Contents, save};

const VERSION: u32 = 1;
const MANIFEST: &str = "salvage.json";
const PREFIX: &str = "refs/branchyard/salvage/";

/// What a salvage says about itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    #[serde(flatten)]
    salvage: Salvage,
    /// The daemon's own time when it was made: its age does not depend on the clock.
    tick: u64,
    /// Where the workspace's own branch was.
    tip: Option<CommitId>,
    stashes: Vec<SavedStash>,
    /// Files and directories to which a checkout would give other permissions, and theirs.
    modes: Vec<(ExactPath, u32)>,
    /// Directories without a file in them.
    empty: Vec<ExactPath>,
    /// What the archive beside holds, relative to the workspace.
    archived: Vec<ExactPath>,
    /// Named pipes, and their permissions.
    #[serde(default)]
    pipes: Vec<(ExactPath, u32)>,
    /// Extended attributes of files and directories.
    #[serde(default)]
    attributes: Vec<(ExactPath, Vec<Attribute>)>,
}

impl Manifest {
    pub fn salvage(&self) -> &Salvage {
        &self.salvage
    }

    pub fn tick(&self) -> u64 {
        self.tick
    }

    pub fn stashes(&self) -> &[SavedStash] {
        &self.stashes
    }

    pub fn into_salvage(self) -> Salvage {
        self.salvage
    }

    /// The commit at which the branch is to be made, where there is no workspace.
    pub fn start(&self) -> Option<&CommitId> {
        self.tip.as_ref().or(self.salvage.commit.as_ref())
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedStash {
    pub commit: CommitId,
    pub message: String,
}

/// A salvage found in a store.
#[derive(Debug, Clone)]
pub struct Saved {
    pub manifest: Manifest,
    pub(super) tree: Oid,
}

impl Saved {
    /// The salvage of this id; `None` where the store has none.
    pub fn find(store: &Repository, id: SalvageId) -> Result<Option<Self>, Error> {
        read_ref(store, &name(id))?
            .map(|commit| Self::load(store, commit.git2()))
            .transpose()
    }

    /// Whether the store has a salvage of this id, readable or not.
    pub fn is_named(store: &Repository, id: SalvageId) -> Result<bool, Error> {
        Ok(read_ref(store, &name(id))?.is_some())
    }

    /// Whether the archive that holds some of it is missing.
    pub fn lacks_archive(&self, archives: &Path) -> bool {
        let archive = archive::path(archives, self.manifest.salvage.id);
        !self.manifest.archived.is_empty() && !archive.exists()
    }

    fn load(store: &Repository, commit: Oid) -> Result<Self, Error> {
        let tree = store.git2().find_commit(commit)?.tree()?;
        let entry = tree.get_path(Path::new(MANIFEST))?;
        let blob = store.git2().find_blob(entry.id())?;
        let manifest: Manifest = serde_json::from_slice(blob.content())
            .map_err(|error| Error::io("read a salvage")(error.into()))?;
        if manifest.version != VERSION {
            let other = format!("it has version {}", manifest.version);
            return Err(Error::io("read a salvage")(std::io::Error::other(other)));
        }
        Ok(Self {
            manifest,
            tree: tree.id(),
        })
    }

    fn part(&self, store: &Repository, path: &str) -> Result<Option<Oid>, Error> {
        match store.git2().find_tree(self.tree)?.get_path(Path::new(path)) {
            Ok(entry) => Ok(Some(entry.id())),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

fn name(id: SalvageId) -> String {
    format!("{PREFIX}{id}")
}

/// A path with all its bytes: text where it is text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum ExactPath {
    Text(String),
    Bytes { b64: String },
}

impl From<&Path> for ExactPath {
    fn from(path: &Path) -> Self {
        match path.to_str() {
            Some(text) => Self::Text(text.to_owned()),
            None => Self::Bytes {
                b64: BASE64_STANDARD.encode(path.as_os_str().as_bytes()),
            },
        }
    }
}

impl ExactPath {
    fn path(&self) -> PathBuf {
        match self {
            Self::Text(text) => PathBuf::from(text),
            // What cannot be decoded was not written by us, and names nothing.
            Self::Bytes { b64 } => BASE64_STANDARD
                .decode(b64)
                .map(|bytes| PathBuf::from(std::ffi::OsString::from_vec(bytes)))
                .unwrap_or_default(),
        }
    }
}
