//! Objects out of a damaged store. Each is read by itself and checked against its name, so that one that
//! is broken costs no other.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use git2::{Odb, Oid};

use super::broken::{files_below, objects};
use super::{Error, Git, Store};
use crate::{ObjectId, Repository};

const IDX_MAGIC: [u8; 8] = [0xff, b't', b'O', b'c', 0, 0, 0, 2];
const MAX_COMPLAINTS: usize = 1024 * 1024;
const FANOUT: usize = 256 * 4;

/// Copies every object that can still be read in the store at `damaged` and that `into` lacks.
pub async fn rescue_objects(git: &Git, damaged: &Path, into: &Store) -> Result<(), Error> {
    let packs = {
        let (from, to) = (damaged.to_owned(), into.path().to_owned());
        tokio::task::spawn_blocking(move || copy_objects(&from, &to)).await??
    };
    // What stands in a broken or unindexed pack is taken out by git itself, as far as it goes.
    for pack in packs {
        let Ok(file) = File::open(&pack) else {
            continue;
        };
        let unpacked = git
            .at(into.path())
            .args(["unpack-objects", "-r", "-q"])
            .input(file)
            .capture(0, |_| {})
            .await?;
        tracing::warn!(pack = %pack.display(), status = %unpacked.status, "took what could be read out of a broken pack");
    }
    Ok(())
}

/// Returns the packs that hold something which could not be read.
fn copy_objects(damaged: &Path, into: &Path) -> Result<Vec<PathBuf>, Error> {
    let Some(from) = objects(damaged) else {
        return Ok(Vec::new());
    };
    let into = Repository::open_bare(into)?;
    let to = into.git2().odb()?;
    for id in loose_objects(damaged)? {
        copy(&from, &to, id)?;
    }
    let mut unread = Vec::new();
    for pack in files_below(&damaged.join("objects/pack"))? {
        if pack.extension().is_none_or(|ending| ending != "pack") {
            continue;
        }
        let whole = match packed_objects(&pack.with_extension("idx")) {
            Some(ids) => ids.into_iter().try_fold(true, |whole, id| {
                Ok::<_, Error>(copy(&from, &to, id)? && whole)
            })?,
            None => false,
        };
        if !whole {
            unread.push(pack);
        }
    }
    Ok(unread)
}

/// Whether `to` has the object now. Only a failure to write is an error.
fn copy(from: &Odb<'_>, to: &Odb<'_>, id: Oid) -> Result<bool, Error> {
    if to.exists(id) {
        return Ok(true);
    }
    let Ok(object) = from.read(id) else {
        return Ok(false);
    };
    if Oid::hash_object(object.kind(), object.data()) != Ok(id) {
        return Ok(false);
    }
    to.write(object.kind(), object.data())?;
    Ok(true)
}

fn loose_objects(store: &Path) -> Result<Vec<Oid>, Error> {
    let objects = store.join("objects");
    let mut found = Vec::new();
    for file in files_below(&objects)? {
        let name: Option<String> = file
            .strip_prefix(&objects)
            .ok()
            .and_then(Path::to_str)
            .map(|name| name.replace('/', ""));
        found.extend(name.and_then(|name| super::broken::whole_id(&name)));
    }
    Ok(found)
}

/// The names in the index of a pack; `None` where there is none that makes sense.
fn packed_objects(idx: &Path) -> Option<Vec<Oid>> {
    let bytes = fs::read(idx).ok()?;
    let rest = bytes.strip_prefix(&IDX_MAGIC)?;
    let (fanout, rest) = rest.split_at_checked(FANOUT)?;
    let count = u32::from_be_bytes(fanout[FANOUT - 4..].try_into().ok()?);
    let names = rest.get(..usize::try_from(count).ok()?.checked_mul(20)?)?;
    names
        .chunks_exact(20)
        .map(|name| Oid::from_bytes(name).ok())
        .collect()
}

/// Whether everything that the store's refs and the workspaces' indexes need is there.
pub async fn is_connected(git: &Git, store: &Store) -> Result<bool, Error> {
    let checked = git
        .at(store.path())
        .args([
            "fsck",
            "--connectivity-only",
            "--no-reflogs",
            "--no-dangling",
            "--no-progress",
        ])
        // Whoever complains at such length is not well either.
        .capture(MAX_COMPLAINTS, |_| {})
        .await?;
    Ok(checked.status.success())
}

/// Whether the files of these commits can be read, each checked against its name.
pub fn is_readable(store: &Store, commits: &[ObjectId]) -> bool {
    let Some(objects) = objects(store.path()) else {
        return false;
    };
    let Ok(repo) = Repository::open_bare(store.path()) else {
        return false;
    };
    let mut seen = BTreeSet::new();
    let is_sound = |id: Oid| {
        let object = objects.read(id);
        object.is_ok_and(|object| Oid::hash_object(object.kind(), object.data()) == Ok(id))
    };
    commits.iter().all(|commit| {
        let found = repo.git2().find_commit(commit.git2());
        is_sound(commit.git2())
            && found.is_ok_and(|found| is_tree_whole(&repo, found.tree_id(), &mut seen, &is_sound))
    })
}

/// Whether all that a tree names is there, by what `is_there` says of each object that was not `seen` before.
pub(super) fn is_tree_whole(
    repo: &Repository,
    tree: Oid,
    seen: &mut BTreeSet<Oid>,
    is_there: &dyn Fn(Oid) -> bool,
) -> bool {
    if !seen.insert(tree) {
        return true;
    }
    let found = repo.git2().find_tree(tree).ok();
    found.filter(|_| is_there(tree)).is_some_and(|tree| {
        tree.iter().all(|entry| match entry.kind() {
            Some(git2::ObjectType::Tree) => is_tree_whole(repo, entry.id(), seen, is_there),
            Some(git2::ObjectType::Blob) => !seen.insert(entry.id()) || is_there(entry.id()),
            _ => true,
        })
    })
}

/// Puts `fresh` in the place of `objects`, and those in the place of `fresh`, in one step.
pub fn exchange(objects: &Path, fresh: &Path) -> Result<(), Error> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    renameat_with(CWD, objects, CWD, fresh, RenameFlags::EXCHANGE)
        .map_err(io::Error::from)
        .map_err(Error::io("exchange the store's objects"))
}
