//! What is to be written: all that a tree holds, in the order of the index, checked before the first byte is.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use git2::{Oid, Tree, TreeEntry};

use super::LeftToGit;
use super::names::is_plain;
use crate::Repository;

const MAX_DEPTH: usize = 256;
/// The longest path that the kernel takes, with its end.
const PATH_MAX: usize = 4096;

#[derive(Debug)]
pub(super) struct CheckoutPlan {
    /// Sorted as the index is.
    pub entries: Vec<CheckoutEntry>,
    /// Each before those in it; the first is the root.
    pub directories: Vec<Directory>,
}

#[derive(Debug)]
pub(super) struct CheckoutEntry {
    /// From the root of the workspace.
    path: Box<[u8]>,
    name_at: usize,
    id: Oid,
    kind: CheckoutKind,
    /// Git writes it.
    is_left: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckoutKind {
    File,
    Program,
    Link,
    /// An empty directory, until somebody fills it.
    Submodule,
}

#[derive(Debug)]
pub(super) struct Directory {
    /// Empty for the root.
    pub path: Box<[u8]>,
    pub(crate) tree: Oid,
    /// Those of the plan's entries that lie in it, but in no directory of it.
    pub own: Vec<usize>,
    /// How many entries lie in it at any depth.
    pub total: usize,
    pub subdirectories: Vec<usize>,
}

impl CheckoutEntry {
    pub(super) fn path(&self) -> &[u8] {
        &self.path
    }

    pub(super) fn kind(&self) -> CheckoutKind {
        self.kind
    }

    /// Whether it is git that writes it.
    pub(super) fn leave_if(&mut self, is_left: bool) {
        self.is_left = is_left;
    }

    pub(super) fn is_left(&self) -> bool {
        self.is_left
    }

    pub(super) fn id(&self) -> Oid {
        self.id
    }

    pub(super) fn name(&self) -> &[u8] {
        &self.path[self.name_at..]
    }
}

impl CheckoutKind {
    fn of(mode: i32) -> Option<Self> {
        match mode {
            0o100_644 => Some(Self::File),
            0o100_755 => Some(Self::Program),
            0o120_000 => Some(Self::Link),
            0o160_000 => Some(Self::Submodule),
            _ => None,
        }
    }

    /// As the index says it.
    pub(super) fn mode(self) -> u32 {
        match self {
            Self::File => 0o100_644,
            Self::Program => 0o100_755,
            Self::Link => 0o120_000,
            Self::Submodule => 0o160_000,
        }
    }
}

impl Directory {
    pub(super) fn name(&self) -> &[u8] {
        self.path
            .rsplit(|byte| *byte == b'/')
            .next()
            .unwrap_or_default()
    }
}

impl CheckoutPlan {
    /// What a checkout of `tree` writes at `root`. An error if there is anything in it that is not plain.
    pub(super) fn of(repo: &Repository, tree: &Tree<'_>, root: &Path) -> Result<Self, LeftToGit> {
        let room = PATH_MAX.saturating_sub(root.as_os_str().as_bytes().len() + 2);
        let mut walk = TreeWalk {
            repo,
            room,
            plan: Self {
                entries: Vec::new(),
                directories: Vec::new(),
            },
        };
        walk.enter(tree, &[], 0)?;
        Ok(walk.plan)
    }
}

struct TreeWalk<'repo> {
    repo: &'repo Repository,
    /// How long a path may be.
    room: usize,
    plan: CheckoutPlan,
}

impl TreeWalk<'_> {
    /// Takes up all of `tree`, and returns the directory's place in the plan.
    fn enter(&mut self, tree: &Tree<'_>, path: &[u8], depth: usize) -> Result<usize, LeftToGit> {
        if tree.is_empty() || depth > MAX_DEPTH {
            return LeftToGit::unusual("a tree is empty or too deep");
        }
        let (here, before) = (self.plan.directories.len(), self.plan.entries.len());
        self.plan.directories.push(Directory {
            path: path.into(),
            tree: tree.id(),
            own: Vec::new(),
            total: 0,
            subdirectories: Vec::new(),
        });
        check_order(tree)?;
        for entry in tree {
            let path = self.path_of(path, &entry)?;
            if entry.filemode_raw() == 0o040_000 {
                let tree = self.repo.git2().find_tree(entry.id())?;
                let within = self.enter(&tree, &path, depth + 1)?;
                self.plan.directories[here].subdirectories.push(within);
            } else {
                self.plan.directories[here]
                    .own
                    .push(self.plan.entries.len());
                self.take(path, &entry)?;
            }
        }
        self.plan.directories[here].total = self.plan.entries.len() - before;
        Ok(here)
    }

    fn take(&mut self, path: Vec<u8>, entry: &TreeEntry<'_>) -> Result<(), LeftToGit> {
        let Some(kind) = CheckoutKind::of(entry.filemode_raw()) else {
            return LeftToGit::unusual(format!("a mode is {:o}", entry.filemode_raw()));
        };
        self.plan.entries.push(CheckoutEntry {
            name_at: path.len() - entry.name_bytes().len(),
            path: path.into(),
            id: entry.id(),
            kind,
            is_left: false,
        });
        Ok(())
    }

    fn path_of(&self, directory: &[u8], entry: &TreeEntry<'_>) -> Result<Vec<u8>, LeftToGit> {
        let name = entry.name_bytes();
        let is_link = entry.filemode_raw() == 0o120_000;
        if !is_plain(name, is_link) || directory.len() + 1 + name.len() > self.room {
            let name = String::from_utf8_lossy(name);
            return LeftToGit::unusual(format!("a name is {name:?}"));
        }
        let mut path = Vec::with_capacity(directory.len() + 1 + name.len());
        path.extend_from_slice(directory);
        if !directory.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        Ok(path)
    }
}

/// The index has git's order and each name once, so a tree must have both.
fn check_order(tree: &Tree<'_>) -> Result<(), LeftToGit> {
    let mut names = HashSet::with_capacity(tree.len());
    let mut last: Option<Vec<u8>> = None;
    for entry in tree {
        if !names.insert(entry.name_bytes().to_vec()) {
            return LeftToGit::unusual("a name stands twice in a tree");
        }
        let mut key = entry.name_bytes().to_vec();
        if entry.filemode_raw() == 0o040_000 {
            key.push(b'/');
        }
        if last.is_some_and(|last| last >= key) {
            return LeftToGit::unusual("a tree is not sorted");
        }
        last = Some(key);
    }
    Ok(())
}
