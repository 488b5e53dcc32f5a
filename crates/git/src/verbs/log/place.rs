//! What trees hold at one path.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use git2::{ObjectType, Oid};

use crate::{Error, Repository};

/// What a tree holds at the path: an object and how it is to be taken.
type Held = Option<(Oid, i32)>;

/// Looks one path up in many trees. Directories are remembered by their ids, so that the many commits
/// which leave the path's directories alone cost a look at their root tree.
pub(super) struct Place<'repo> {
    repo: &'repo Repository,
    names: Vec<Vec<u8>>,
    /// By tree and depth in the path.
    known: HashMap<(Oid, usize), Held>,
}

impl<'repo> Place<'repo> {
    /// `path` is relative; `.` is the root.
    pub(super) fn new(repo: &'repo Repository, path: &Path) -> Self {
        let names = path.components().filter_map(|component| match component {
            Component::Normal(name) => Some(name.as_bytes().to_vec()),
            _ => None,
        });
        Self {
            repo,
            names: names.collect(),
            known: HashMap::new(),
        }
    }

    /// Whether two trees are the same as far as the path is concerned.
    pub(super) fn is_same(&mut self, one: Oid, other: Oid) -> Result<bool, Error> {
        Ok(one == other || self.held(one, 0)? == self.held(other, 0)?)
    }

    pub(super) fn is_in(&mut self, tree: Oid) -> Result<bool, Error> {
        Ok(self.held(tree, 0)?.is_some())
    }

    fn held(&mut self, tree: Oid, depth: usize) -> Result<Held, Error> {
        let Some(name) = self.names.get(depth) else {
            // An empty root is as if it were not there.
            let is_empty = self.repo.git2().find_tree(tree)?.is_empty();
            return Ok((!is_empty).then_some((tree, 0)));
        };
        if let Some(held) = self.known.get(&(tree, depth)) {
            return Ok(*held);
        }
        let entry = self
            .repo
            .git2()
            .find_tree(tree)?
            .get_name_bytes(name)
            .map(|entry| (entry.id(), entry.filemode(), entry.kind()));
        let held = match entry {
            Some((id, mode, _)) if depth + 1 == self.names.len() => Some((id, mode)),
            Some((id, _, Some(ObjectType::Tree))) => self.held(id, depth + 1)?,
            _ => None,
        };
        self.known.insert((tree, depth), held);
        Ok(held)
    }
}
