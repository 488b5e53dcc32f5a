//! Lock files that a killed git left behind. One is removed only where nobody alive can be behind it,
//! and only by a caller who holds our own lock on what it guards.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Error, Store};
use crate::model::BranchName;
use crate::process::is_in_use;

/// Locks of the store that fetching or registering these branches can meet.
pub fn store_locks(store: &Store, branches: &[BranchName]) -> Vec<PathBuf> {
    let shared = [
        "packed-refs.lock",
        "shallow.lock",
        "config.lock",
        "HEAD.lock",
    ]
    .map(str::to_owned);
    let own = branches
        .iter()
        .flat_map(|branch| [branch.local_ref(), branch.remote_ref()])
        .map(|name| format!("{name}.lock"));
    shared
        .into_iter()
        .chain(own)
        .map(|name| store.path().join(name))
        .collect()
}

/// Removes the locks of refs that only a daemon writes, libgit2 being killed like anyone else. To be
/// called when a daemon starts, which is the only one then.
pub fn clear_own_ref_locks(store: &Path) -> Result<(), Error> {
    let inside = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten();
    for kind in inside(&store.join("refs/branchyard")) {
        for entry in inside(&kind.path()) {
            let path = entry.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "lock")
            {
                tracing::warn!(lock = %path.display(), "a lock file of an earlier daemon is removed");
                fs::remove_file(path).map_err(Error::io("remove a stale lock file"))?;
            }
        }
    }
    Ok(())
}

/// Removes those of `locks` that exist, unless somebody is at work in one of `places`. Returns whether
/// there is anything to try again for.
pub fn clear_stale_locks(locks: &[PathBuf], places: &[&Path]) -> Result<bool, Error> {
    let stale: Vec<_> = locks.iter().filter(|lock| lock.exists()).collect();
    if stale.is_empty() || places.iter().any(|place| is_in_use(place)) {
        return Ok(false);
    }
    for lock in stale {
        tracing::warn!(lock = %lock.display(), "a lock file that nobody is behind is removed");
        match fs::remove_file(lock) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove a stale lock file")(error));
            }
            _ => {}
        }
    }
    Ok(true)
}
