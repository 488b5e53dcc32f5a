//! Refs after objects were lost: each is kept, put back to the best commit that is still whole, or taken
//! away. What it was is told; the refs as they were are kept with the damaged objects.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use git2::{Odb, Oid};

use super::broken::{Refs, former, set_ref};
use super::fixed_file::write_whole;
use super::rescue::is_tree_whole;
use super::{Error, Store};
use crate::{ObjectId, Repository};
use branchyard_runtime::disk::if_there;

/// The refs under which the remote's branches stand, by full name.
pub fn remote_refs(store: &Store) -> Result<BTreeMap<String, ObjectId>, Error> {
    let mut refs = Refs::read(store.path())?.into_direct();
    refs.retain(|name, _| name.starts_with("refs/remotes/"));
    Ok(refs
        .into_iter()
        .map(|(name, id)| (name, ObjectId::of(id)))
        .collect())
}

/// Sets these refs and brings all others to what the store still has. Returns what was lost, a sentence
/// each.
pub fn settle_refs(
    store: &Store,
    remote: &BTreeMap<String, ObjectId>,
) -> Result<Vec<String>, Error> {
    for (name, id) in remote {
        set_ref(store.path(), name, id.git2())?;
    }
    let refs = Refs::read(store.path())?.into_direct();
    let repo = Repository::open_bare(store.path())?;
    let objects = repo.git2().odb()?;
    let seen_remotely: Vec<Oid> = refs
        .iter()
        .filter(|(name, id)| name.starts_with("refs/remotes/") && objects.exists(**id))
        .map(|(_, id)| *id)
        .collect();
    let whole = |id: Oid| is_whole(&repo, &objects, id, &seen_remotely);
    let (mut lost, mut dropped) = (Vec::new(), BTreeSet::new());
    for (name, id) in &refs {
        let is_kept = match name.starts_with("refs/heads/") || name == "refs/stash" {
            true => whole(*id),
            // A part of what was saved is better than nothing.
            false => objects.exists(*id),
        };
        if is_kept {
            continue;
        }
        let told_anew = ["refs/remotes/", "refs/branchyard/seen"]
            .iter()
            .any(|known| name.starts_with(known));
        let best = match told_anew {
            true => None,
            false => former(store.path(), name).into_iter().find(|id| whole(*id)),
        };
        match best {
            Some(best) => {
                set_ref(store.path(), name, best)?;
                lost.push(format!(
                    "{name} was at {id}, which is lost, and is now at {best}"
                ));
            }
            None => {
                dropped.insert(name.clone());
                if !told_anew {
                    lost.push(format!("{name} was at {id}, which is lost"));
                }
            }
        }
    }
    drop_refs(store.path(), &dropped)?;
    Ok(lost)
}

/// Whether a commit is there with its files, and everything before it up to what the remote has.
fn is_whole(repo: &Repository, objects: &Odb<'_>, tip: Oid, known: &[Oid]) -> bool {
    if known.contains(&tip) {
        return true;
    }
    let walk = || -> Result<bool, git2::Error> {
        let mut walk = repo.git2().revwalk()?;
        walk.push(tip)?;
        for id in known {
            walk.hide(*id)?;
        }
        let mut seen = BTreeSet::new();
        // An empty tree can be read where there is none.
        let is_there = |id| objects.exists(id) || repo.git2().find_tree(id).is_ok();
        for commit in walk {
            let tree = repo.git2().find_commit(commit?)?.tree_id();
            if !is_tree_whole(repo, tree, &mut seen, &is_there) {
                return Ok(false);
            }
        }
        Ok(true)
    };
    walk().unwrap_or(false)
}

/// Takes refs away past git, which would want to read them first. Their logs stay out of the way.
fn drop_refs(store: &Path, names: &BTreeSet<String>) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    for name in names {
        for file in [store.join(name), store.join("logs").join(name)] {
            if_there(fs::remove_file(&file)).map_err(Error::io("drop a ref"))?;
        }
    }
    let packed = store.join("packed-refs");
    let Ok(text) = fs::read_to_string(&packed) else {
        return Ok(());
    };
    let is_kept = |line: &&str| {
        let name = line.split_once(' ').map(|(_, name)| name);
        !line.starts_with(['#', '^']) && !name.is_some_and(|name| names.contains(name))
    };
    let mut fresh = "# pack-refs with: sorted \n".to_owned();
    for line in text.lines().filter(is_kept) {
        fresh.push_str(line);
        fresh.push('\n');
    }
    write_whole(&packed, &fresh).map_err(Error::io("rewrite packed-refs"))
}
