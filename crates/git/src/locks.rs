//! Lock files that a killed git left behind. One is removed only where nobody alive can be behind it,
//! and only by a caller who holds our own lock on what it guards.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::broken::files_below;
use super::shadow::settle;
use super::{Error, Git, Store};
use branchyard_model::BranchName;
use branchyard_process::{Presence, is_in_use};
use branchyard_runtime::disk::if_there;

/// Files of a store that keep others away though their names do not say so.
const OTHER_NAMES: [&str; 2] = ["gc.pid", "packed-refs.new"];

/// A lock of ours is held for much less: libgit2 works inside this process, where nobody sees it.
const OURS_AT_MOST: Duration = Duration::from_secs(1);

/// A lock file and the places where its holder would be seen.
#[derive(Debug, Clone)]
pub struct Lock {
    path: PathBuf,
    /// Whoever is here may hold it.
    places: Vec<PathBuf>,
    /// A git that is here may hold it; other programs may not.
    home: Option<PathBuf>,
}

impl Lock {
    /// Whether somebody who lives may hold it.
    pub fn is_held(&self, presence: &Presence) -> bool {
        self.places.iter().any(|place| presence.is_in(place))
            || self
                .home
                .as_ref()
                .is_some_and(|home| presence.git_is_in(home))
    }

    /// Too young to be told from one that this very process holds.
    pub fn is_young(&self) -> bool {
        let made = fs::symlink_metadata(&self.path).and_then(|meta| meta.modified());
        made.is_ok_and(|made| {
            SystemTime::now()
                .duration_since(made)
                .is_ok_and(|age| age < OURS_AT_MOST)
        })
    }

    /// What git did under it for a daemon that is gone is completed first.
    pub fn remove(&self, git: &Git) -> Result<(), Error> {
        settle(&self.path, git.trash())?;
        remove_lock(&self.path)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Every lock file of a store and of the workspaces beside it.
pub fn all_locks(store: &Store) -> Result<Vec<Lock>, Error> {
    let git_dir = store.path();
    let home = git_dir.parent().map(Path::to_owned);
    // Those of the store itself: of its refs and their logs, of its objects' indexes, of its own files.
    let shared = locks_in(
        &[git_dir, &git_dir.join("objects")],
        ["refs", "logs", "objects/info", "objects/pack"].map(|dir| git_dir.join(dir)),
    )?;
    let mut found: Vec<Lock> = shared
        .into_iter()
        .map(|path| Lock {
            path,
            places: vec![git_dir.to_owned()],
            home: home.clone(),
        })
        .collect();
    for admin in entries(&git_dir.join("worktrees"))? {
        let workspace = home.as_deref().zip(admin.file_name());
        let mut places = vec![admin.clone()];
        places.extend(workspace.map(|(home, name)| home.join(name)));
        // Those of one workspace; submodules have their own.
        for path in locks_in(&[&admin], ["refs", "logs"].map(|dir| admin.join(dir)))? {
            found.push(Lock {
                path,
                places: places.clone(),
                home: None,
            });
        }
    }
    Ok(found)
}

/// Lock files directly in `dirs`, and in `trees` however deep.
fn locks_in<const N: usize>(dirs: &[&Path], trees: [PathBuf; N]) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for dir in dirs {
        files.extend(entries(dir)?);
    }
    for tree in trees {
        files.extend(files_below(&tree)?);
    }
    files.retain(|file| is_lock(file) && !file.is_dir());
    Ok(files)
}

fn is_lock(file: &Path) -> bool {
    let other = file
        .file_name()
        .is_some_and(|name| OTHER_NAMES.iter().any(|other| name == *other));
    other || file.extension().is_some_and(|ending| ending == "lock")
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = if_there(fs::read_dir(dir)).map_err(Error::io("look through the store"))?;
    let paths = entries.into_iter().flatten().map(|entry| Ok(entry?.path()));
    let paths: io::Result<_> = paths.collect();
    paths.map_err(Error::io("look through the store"))
}

/// Locks of the store that fetching or registering these branches can meet.
pub fn store_locks(store: &Store, branches: &[BranchName]) -> Vec<PathBuf> {
    let shared = [
        "packed-refs.lock",
        "packed-refs.new",
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

/// Locks that are worth a look before every command in a workspace, being what commands meet most.
pub fn is_locked(store: &Store, branch: &BranchName, admin: &Path) -> bool {
    let shared = ["packed-refs.lock", "packed-refs.new", "refs/stash.lock"];
    let own = format!("{}.lock", branch.local_ref());
    shared
        .iter()
        .map(|name| store.path().join(name))
        .chain([
            store.path().join(own),
            admin.join("index.lock"),
            admin.join("HEAD.lock"),
        ])
        .any(|lock| lock.exists())
}

/// Removes those of `locks` that exist, unless somebody is at work in one of `places`. Returns whether
/// there is anything to try again for.
pub fn clear_stale_locks(locks: &[PathBuf], places: &[&Path]) -> Result<bool, Error> {
    let stale: Vec<_> = locks.iter().filter(|lock| lock.exists()).collect();
    if stale.is_empty() || places.iter().any(|place| is_in_use(place)) {
        return Ok(false);
    }
    for lock in stale {
        remove_lock(lock)?;
    }
    Ok(true)
}

fn remove_lock(lock: &Path) -> Result<(), Error> {
    tracing::warn!(lock = %lock.display(), "a lock file that nobody is behind is removed");
    let removed = if_there(fs::remove_file(lock));
    removed
        .map(drop)
        .map_err(Error::io("remove a stale lock file"))
}

/// Removes what a fetch that ran out of room left half written, unless somebody is at work in `home`,
/// the directory of the store and its workspaces: then it may be theirs. The caller holds the lock on
/// fetches. Whole objects stay; the next fetch has use for them.
pub fn clear_half_fetched(store: &Store, home: &Path) -> Result<(), Error> {
    if is_in_use(home) {
        return Ok(());
    }
    let inside = |dir: &Path| fs::read_dir(dir).into_iter().flatten().flatten();
    for dir in inside(&store.path().join("objects")) {
        for entry in inside(&dir.path()) {
            if entry.file_name().as_encoded_bytes().starts_with(b"tmp_") {
                fs::remove_file(entry.path()).map_err(Error::io("clear a half-made fetch"))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let git_dir = home.path().join(".git");
        let locks = [
            "HEAD.lock",
            "config.lock",
            "gc.pid",
            "index.lock",
            "logs/refs/heads/main.lock",
            "objects/info/commit-graphs/commit-graph-chain.lock",
            "objects/maintenance.lock",
            "objects/pack/multi-pack-index.lock",
            "packed-refs.lock",
            "packed-refs.new",
            "refs/branchyard/seen/main.lock",
            "refs/heads/feature/x.lock",
            "refs/remotes/origin/main.lock",
            "refs/stash.lock",
            "shallow.lock",
            "worktrees/main/HEAD.lock",
            "worktrees/main/index.lock",
            "worktrees/main/logs/HEAD.lock",
        ];
        let others = [
            "config",
            "objects/ab/cdef.lock",
            "refs/heads/main",
            "worktrees/main/modules/sub/index.lock",
        ];
        for file in locks.iter().chain(&others) {
            let path = git_dir.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let store = Store::at(git_dir.clone(), String::new());
        let found = all_locks(&store).unwrap();
        let mut names: Vec<_> = found
            .iter()
            .map(|lock| lock.path.strip_prefix(&git_dir).unwrap().to_str().unwrap())
            .collect();
        names.sort_unstable();
        assert_eq!(names, locks);
        let nobody = Presence::below(home.path());
        assert!(
            found
                .iter()
                .all(|lock| !lock.is_held(&nobody) && lock.is_young())
        );
    }
}
