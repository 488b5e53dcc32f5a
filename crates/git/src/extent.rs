//! How many paths a tree stands for. Eight objects are enough for a tree of a hundred million paths. To
//! list or write them all takes gigabytes, and libgit2 would do that in this very process. So what is larger than any honest
//! repository is refused before that; each subtree is counted once, however often it occurs.

use std::collections::HashMap;

use git2::{ObjectType, Oid, Tree};

use super::Error;
use crate::{ObjectId, Repository};
use branchyard_model::{ErrorKind, Problem};

/// The largest repositories that are known have a tenth of it.
pub(super) const MOST_PATHS: u64 = 4_000_000;
const DEEPEST: usize = 256;

/// Refuses to look at or to write what two trees do not have in common, if that is too much. A tree that is not
/// there has no paths.
pub(super) fn check_extent(
    repo: &Repository,
    old: Option<&Tree<'_>>,
    new: Option<&Tree<'_>>,
) -> Result<(), Error> {
    let mut count = Count {
        repo,
        known: HashMap::new(),
    };
    let ids = (old.map(Tree::id), new.map(Tree::id));
    match count.between(ids.0, ids.1, 0)? > MOST_PATHS {
        true => Err(too_many_paths().into()),
        false => Ok(()),
    }
}

/// The same of a checkout of `commit` where the tree `from` is. A tree that is gone counts as none.
pub fn check_checkout(
    repo: &Repository,
    from: Option<ObjectId>,
    commit: ObjectId,
) -> Result<(), Error> {
    let to = repo.git2().find_commit(commit.git2())?.tree()?;
    let from = from.and_then(|tree| repo.git2().find_tree(tree.git2()).ok());
    check_extent(repo, from.as_ref(), Some(&to))
}

struct Count<'repo> {
    repo: &'repo Repository,
    /// How many paths a tree has, by its id.
    known: HashMap<Oid, u64>,
}

impl Count<'_> {
    /// How many paths either tree has that the other has not with the same content; more than the most may
    /// be any number above it.
    fn between(&mut self, old: Option<Oid>, new: Option<Oid>, depth: usize) -> Result<u64, Error> {
        let (Some(one), Some(other)) = (old, new) else {
            let only = old.or(new);
            return only.map_or(Ok(0), |tree| self.all_of(tree, depth));
        };
        if one == other {
            return Ok(0);
        }
        if depth > DEEPEST {
            return Ok(MOST_PATHS + 1);
        }
        let (one, other) = (
            self.repo.git2().find_tree(one)?,
            self.repo.git2().find_tree(other)?,
        );
        let mut paths = 0_u64;
        for (tree, against, is_first) in [(&one, &other, true), (&other, &one, false)] {
            for entry in tree {
                let twin = against.get_name_bytes(entry.name_bytes());
                if twin.as_ref().is_some_and(|twin| twin.id() == entry.id()) {
                    continue;
                }
                let is_tree = |kind| kind == Some(ObjectType::Tree);
                let twin = twin.filter(|twin| is_tree(twin.kind()));
                paths = paths.saturating_add(match (is_tree(entry.kind()), twin) {
                    // Both at once, from the first side.
                    (true, Some(twin)) if is_first => {
                        self.between(Some(entry.id()), Some(twin.id()), depth + 1)?
                    }
                    (true, Some(_)) => 0,
                    (true, None) => self.all_of(entry.id(), depth + 1)?,
                    (false, _) => 1,
                });
                if paths > MOST_PATHS {
                    return Ok(paths);
                }
            }
        }
        Ok(paths)
    }

    fn all_of(&mut self, tree: Oid, depth: usize) -> Result<u64, Error> {
        if let Some(known) = self.known.get(&tree) {
            return Ok(*known);
        }
        if depth > DEEPEST {
            return Ok(MOST_PATHS + 1);
        }
        let mut paths = 0_u64;
        for entry in &self.repo.git2().find_tree(tree)? {
            paths = paths.saturating_add(match entry.kind() {
                Some(ObjectType::Tree) => self.all_of(entry.id(), depth + 1)?,
                _ => 1,
            });
            if paths > MOST_PATHS {
                break;
            }
        }
        self.known.insert(tree, paths);
        Ok(paths)
    }
}

fn too_many_paths() -> Problem {
    Problem::new(
        ErrorKind::Unprocessable,
        "too_many_paths",
        format!("the trees differ in more than {MOST_PATHS} paths, which is more than Branchyard handles"),
    )
    .help("look at the commit itself: a tree that names few objects very often is no work of a person's")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of `width` to the power of `depth` paths.
    fn bomb(repo: &Repository, width: usize, depth: usize) -> Oid {
        let mut id = repo.git2().blob(b"x").unwrap();
        for level in 0..depth {
            let mode = if level == 0 { 0o100_644 } else { 0o040_000 };
            let mut tree = repo.git2().treebuilder(None).unwrap();
            for n in 0..width {
                tree.insert(format!("d{n}"), id, mode).unwrap();
            }
            id = tree.write().unwrap();
        }
        id
    }

    #[test]
    fn what_a_few_objects_stand_for_is_counted_and_refused() {
        let dir = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(dir.path()).unwrap();
        let tree = |width, depth| repo.git2().find_tree(bomb(&repo, width, depth)).unwrap();
        let (small, large) = (tree(10, 3), tree(10, 8));
        let check = |old: Option<&Tree<'_>>, new| check_extent(&repo, old, new);
        assert!(check(None, Some(&small)).is_ok());
        assert!(check(Some(&large), Some(&large)).is_ok());
        for (old, new) in [(None, &large), (Some(&small), &large)] {
            let refused = check(old, Some(new)).unwrap_err().problem();
            assert_eq!(refused.code, "too_many_paths");
        }
        assert!(check(Some(&large), None).is_err());
        // As deep as it is wide in none.
        assert!(check(None, Some(&tree(1, 400))).is_err());
    }
}
