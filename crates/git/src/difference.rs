//! How two trees differ, path by path. Subtrees that are the same are not looked into, so that it costs what
//! differs and not what there is.

use std::collections::BTreeMap;

use git2::{ObjectType, Oid, Tree};

use super::Error;
use crate::{ObjectId, Repository};

const GITLINK: i32 = 0o160_000;

/// What is otherwise in one tree than in another.
#[derive(Debug, Default, Clone)]
pub struct Difference {
    pub changes: Vec<TreeChange>,
}

/// A path at which two trees differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeChange {
    pub path: Vec<u8>,
    /// Whether the old tree has a file there.
    pub was: bool,
    /// The file that the new tree has there.
    pub is: Option<ObjectId>,
}

impl Difference {
    /// What differs between the files of two commits; `None` if that is more than `most`.
    pub fn between_commits(
        repo: &Repository,
        old: ObjectId,
        new: ObjectId,
        most: usize,
    ) -> Result<Option<Self>, Error> {
        let tree = |commit: ObjectId| repo.git2().find_commit(commit.git2())?.tree();
        Self::between(repo, &tree(old)?, &tree(new)?, most)
    }

    /// What differs from `old` in `new`; `None` if that is more than `most`.
    pub(super) fn between(
        repo: &Repository,
        old: &Tree<'_>,
        new: &Tree<'_>,
        most: usize,
    ) -> Result<Option<Self>, Error> {
        let mut search = DifferenceSearch {
            repo,
            most,
            found: Self::default(),
        };
        let within = old.id() == new.id() || search.compare(Some(old), Some(new), b"")?;
        Ok(within.then_some(search.found))
    }

    /// Whether files could be written otherwise than before although they are the same in both trees.
    pub fn changes_attributes(&self) -> bool {
        self.changes.iter().any(|change| {
            let name = change.path.rsplit(|byte| *byte == b'/').next();
            name == Some(b".gitattributes")
        })
    }
}

struct DifferenceSearch<'a> {
    repo: &'a Repository,
    most: usize,
    found: Difference,
}

/// An entry of a tree: whether it is a tree itself, its id, its mode.
type Node = (bool, Oid, i32);

impl DifferenceSearch<'_> {
    /// Returns whether it stayed within bounds.
    fn compare(
        &mut self,
        old: Option<&Tree<'_>>,
        new: Option<&Tree<'_>>,
        dir: &[u8],
    ) -> Result<bool, Error> {
        // By name: a tree has its entries in another order, as if each subtree's name ended in a slash.
        let mut entries: BTreeMap<Vec<u8>, [Option<Node>; 2]> = BTreeMap::new();
        for (side, tree) in [old, new].into_iter().enumerate() {
            for entry in tree.into_iter().flat_map(|tree| tree.iter()) {
                let mode = entry.filemode_raw();
                let is_tree = entry.kind() == Some(ObjectType::Tree) && mode != GITLINK;
                let both = entries.entry(entry.name_bytes().to_owned()).or_default();
                both[side] = Some((is_tree, entry.id(), mode));
            }
        }
        for (name, both) in entries.into_iter().filter(|(_, [was, is])| was != is) {
            let path = [dir, &name].concat();
            let file = |node: Option<Node>| node.filter(|node| !node.0).map(|node| node.1);
            let [was, is] = both.map(file);
            if was.is_some() || is.is_some() {
                if self.found.changes.len() == self.most {
                    return Ok(false);
                }
                self.found.changes.push(TreeChange {
                    path: path.clone(),
                    was: was.is_some(),
                    is: is.map(ObjectId::of),
                });
            }
            let tree = |node: Option<Node>| {
                let node = node.filter(|node| node.0);
                node.map(|node| self.repo.git2().find_tree(node.1))
                    .transpose()
            };
            let [was, is] = both.map(tree);
            let within = [&path[..], b"/"].concat();
            if !self.compare(was?.as_ref(), is?.as_ref(), &within)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree<'a>(repo: &'a Repository, files: &[(&str, &str, i32)]) -> Tree<'a> {
        let mut index = git2::Index::new().unwrap();
        for (path, content, mode) in files {
            let entry = git2::IndexEntry {
                ctime: git2::IndexTime::new(0, 0),
                mtime: git2::IndexTime::new(0, 0),
                dev: 0,
                ino: 0,
                mode: u32::try_from(*mode).unwrap(),
                uid: 0,
                gid: 0,
                file_size: 0,
                id: repo.git2().blob(content.as_bytes()).unwrap(),
                flags: 0,
                flags_extended: 0,
                path: path.as_bytes().to_vec(),
            };
            index.add(&entry).unwrap();
        }
        repo.git2()
            .find_tree(index.write_tree_to(repo.git2()).unwrap())
            .unwrap()
    }

    #[test]
    fn every_path_that_differs_is_found_once() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        let file = 0o100_644;
        let old = tree(
            &repo,
            &[
                ("a.c", "1", file),
                ("a/deep/same", "1", file),
                ("a/deep/x", "1", file),
                ("gone/x", "1", file),
                ("run", "1", file),
                ("swap/inner", "1", file),
            ],
        );
        let new = tree(
            &repo,
            &[
                ("a.c", "2", file),
                ("a/deep/same", "1", file),
                ("a/deep/y", "1", file),
                ("new/d/x", "1", file),
                ("run", "1", 0o100_755),
                ("swap", "1", file),
            ],
        );
        let found = Difference::between(&repo, &old, &new, 100)
            .unwrap()
            .unwrap();
        let found: Vec<_> = found
            .changes
            .iter()
            .map(|change| {
                let path = std::str::from_utf8(&change.path).unwrap();
                (path, change.was, change.is.is_some())
            })
            .collect();
        let expected = [
            ("a/deep/x", true, false),
            ("a/deep/y", false, true),
            ("a.c", true, true),
            ("gone/x", true, false),
            ("new/d/x", false, true),
            ("run", true, true),
            ("swap", false, true),
            ("swap/inner", true, false),
        ];
        assert_eq!(found, expected);
        let bounded = |most| Difference::between(&repo, &old, &new, most).unwrap();
        assert!(bounded(7).is_none() && bounded(8).is_some());
        let same = Difference::between(&repo, &old, &old, 0).unwrap().unwrap();
        assert!(same.changes.is_empty());
    }

    #[test]
    fn changed_attributes_are_told_of() {
        let change = |path: &str| TreeChange {
            path: path.as_bytes().to_vec(),
            was: true,
            is: None,
        };
        let changes = |paths: &[&str]| Difference {
            changes: paths.iter().map(|path| change(path)).collect(),
        };
        assert!(changes(&["a", "b/.gitattributes"]).changes_attributes());
        assert!(changes(&[".gitattributes"]).changes_attributes());
        assert!(!changes(&["a.gitattributes"]).changes_attributes());
    }
}
