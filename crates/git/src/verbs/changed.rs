//! Which paths differ between two trees, found by comparing ids. libgit2's own diff goes through every
//! file of both, changed or not; told where to look it does not.

use git2::{ObjectType, Oid, Tree};

use crate::{Error, Repository};

/// Where more has changed, knowing where saves nothing.
const MOST: usize = 1000;

/// The paths of all files and directories that differ, or `None` where they are many.
pub(super) fn changed(
    repo: &Repository,
    old: Option<&Tree<'_>>,
    new: &Tree<'_>,
) -> Result<Option<Vec<Vec<u8>>>, Error> {
    let Some(old) = old else {
        return Ok(None);
    };
    let mut changed = Vec::new();
    let mut pending = vec![(Vec::new(), old.id(), new.id())];
    while let Some((dir, old, new)) = pending.pop() {
        differing(repo, &dir, old, new, &mut changed, &mut pending)?;
        if changed.len() + pending.len() > MOST {
            return Ok(None);
        }
    }
    Ok(Some(changed))
}

/// A directory that both trees have, and what each has there.
type Pair = (Vec<u8>, Oid, Oid);

fn differing(
    repo: &Repository,
    dir: &[u8],
    old: Oid,
    new: Oid,
    changed: &mut Vec<Vec<u8>>,
    pending: &mut Vec<Pair>,
) -> Result<(), Error> {
    let (old, new) = (repo.git2().find_tree(old)?, repo.git2().find_tree(new)?);
    let path = |name: &[u8]| match dir {
        [] => name.to_vec(),
        _ => [dir, b"/", name].concat(),
    };
    for entry in &new {
        let name = entry.name_bytes();
        match old.get_name_bytes(name) {
            Some(was) if (was.id(), was.filemode()) == (entry.id(), entry.filemode()) => {}
            Some(was)
                if was.kind() == Some(ObjectType::Tree)
                    && entry.kind() == Some(ObjectType::Tree) =>
            {
                pending.push((path(name), was.id(), entry.id()));
            }
            _ => changed.push(path(name)),
        }
    }
    for entry in &old {
        if new.get_name_bytes(entry.name_bytes()).is_none() {
            changed.push(path(entry.name_bytes()));
        }
    }
    Ok(())
}
