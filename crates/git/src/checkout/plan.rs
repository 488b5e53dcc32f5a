//! What is to be written: all that a tree holds, in the order of the index, checked before the first byte is.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::{Oid, Tree};

use super::names::is_plain;
use super::unusual;
use crate::index_file::CachedTree;
use crate::{Error, Repository};

/// The longest path that the kernel takes, with its end.
const PATH_MAX: usize = 4096;
const MAX_DEPTH: usize = 256;
/// What all paths together may take; few trees can have many of them. Beyond it, a bounded process does it.
const MAX_PATHS: usize = 64 << 20;
/// As trees say it.
const DIRECTORY: u32 = 0o040_000;

/// What a checkout writes at a path.
#[derive(Debug)]
pub(crate) struct CheckoutEntry {
    /// From the root of the workspace.
    path: Vec<u8>,
    name_at: usize,
    id: Oid,
    kind: CheckoutKind,
    /// Git writes it, for it might convert it.
    is_left: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckoutKind {
    File,
    Program,
    Link,
    /// An empty directory, until it is filled by the caller.
    Submodule,
}

impl CheckoutEntry {
    pub(crate) fn path(&self) -> &[u8] {
        &self.path
    }

    pub(crate) fn id(&self) -> Oid {
        self.id
    }

    pub(crate) fn kind(&self) -> CheckoutKind {
        self.kind
    }

    pub(crate) fn leave_if(&mut self, is_left: bool) {
        self.is_left = is_left;
    }

    pub(crate) fn is_left(&self) -> bool {
        self.is_left
    }

    /// Empty for the root.
    pub(super) fn directory(&self) -> &[u8] {
        &self.path[..self.name_at.saturating_sub(1)]
    }

    pub(crate) fn name(&self) -> &[u8] {
        &self.path[self.name_at..]
    }
}

impl CheckoutKind {
    fn of(mode: u32) -> Option<Self> {
        [Self::File, Self::Program, Self::Link, Self::Submodule]
            .into_iter()
            .find(|kind| kind.mode() == mode)
    }

    /// As trees and the index say it.
    pub(crate) fn mode(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Program => 0o100_755,
            Self::Link => 0o120_000,
            Self::Submodule => 0o160_000,
        }
    }
}

/// All that a tree holds.
#[derive(Debug)]
pub(crate) struct CheckoutPlan {
    /// In the order of the index.
    pub entries: Vec<CheckoutEntry>,
    pub trees: CachedTree,
}

impl CheckoutPlan {
    /// An error if there is anything in `tree` that is not plain.
    pub(crate) fn of(repo: &Repository, tree: &Tree<'_>, root: &Path) -> Result<Self, Error> {
        let mut walk = TreeWalk {
            repo,
            bytes: 0,
            room: PATH_MAX.saturating_sub(root.as_os_str().as_bytes().len() + 2),
            entries: Vec::new(),
            directories: HashSet::new(),
        };
        let trees = walk.enter(tree, &[], b"", 0)?;
        let entries = walk.entries;
        // The index has git's order and each name once, so a tree must have both.
        let is_directory = |entry: &CheckoutEntry| walk.directories.contains(&entry.path);
        let is_sorted = entries.is_sorted_by(|one, next| one.path < next.path);
        match is_sorted && !entries.iter().any(is_directory) {
            true => Ok(Self { entries, trees }),
            false => Err(unusual("a tree is not sorted, or has a name twice")),
        }
    }
}

struct TreeWalk<'repo> {
    repo: &'repo Repository,
    /// Of all paths so far.
    bytes: usize,
    /// How long a path may be.
    room: usize,
    entries: Vec<CheckoutEntry>,
    directories: HashSet<Vec<u8>>,
}

impl TreeWalk<'_> {
    /// Takes up all of `tree`, the directory called `name`, whose entries' paths begin with `inside`.
    fn enter(
        &mut self,
        tree: &Tree<'_>,
        inside: &[u8],
        name: &[u8],
        depth: usize,
    ) -> Result<CachedTree, Error> {
        let (before, mut within) = (self.entries.len(), Vec::new());
        for entry in tree {
            let (name, id) = (entry.name_bytes(), entry.id());
            let mode = entry.filemode_raw().cast_unsigned();
            let mut path = [inside, name].concat();
            let kind = CheckoutKind::of(mode);
            let is_link = kind == Some(CheckoutKind::Link);
            self.bytes += path.len();
            let is_fine = is_plain(name, is_link)
                && path.len() <= self.room
                && self.bytes <= MAX_PATHS
                && !id.is_zero();
            match kind {
                Some(kind) if is_fine => self.entries.push(CheckoutEntry {
                    path,
                    name_at: inside.len(),
                    id,
                    kind,
                    is_left: false,
                }),
                None if is_fine
                    && mode == DIRECTORY
                    && depth < MAX_DEPTH
                    && self.directories.insert(path.clone()) =>
                {
                    path.push(b'/');
                    let tree = self.repo.git2().find_tree(id)?;
                    let tree = self.enter(&tree, &path, name, depth + 1)?;
                    within.push((name.to_vec(), tree));
                }
                _ => {
                    let path = String::from_utf8_lossy(&path);
                    return Err(unusual(format!("{path:?} with mode {mode:o}")));
                }
            }
        }
        match self.entries.len() - before {
            0 => Err(unusual("a tree is empty")),
            entries => Ok(CachedTree::new(name, tree.id(), entries, within)),
        }
    }
}
