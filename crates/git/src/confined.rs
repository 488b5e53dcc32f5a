//! What a git command that looks at a worktree is shown of the yard: that worktree and its store.
//!
//! Git enters a repository at a gitlink to see whether it is changed, and that runs whatever programs its
//! configuration names. Where git only reads, nothing can come of it: all that it sees is read-only, and options
//! keep it out besides. A command that writes may change objects and refs, and no option of `add` and
//! `commit` keeps git out; so repositories at gitlinks are not there.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use super::submodule::record::{RECORD, submodule_registration};
use super::{GITLINK, IndexFile};
use branchyard_process::{Confinement, Mount};

/// What of a store decides how git treats it, and where programs could be named.
const STORE_FILES: [&str; 6] = [
    "config",
    "config.worktree",
    "HEAD",
    "hooks",
    "info",
    "branchyard.json",
];
/// What leads from a worktree to its store and back, and configures it.
const ADMIN_FILES: [&str; 7] = [
    "commondir",
    "gitdir",
    "config",
    "config.worktree",
    "objects/info",
    "branchyard.json",
    RECORD,
];

/// A confined command in the worktree at `dir`, without its program yet, and that directory's real name.
pub(super) fn confined(
    confinement: &Confinement,
    dir: &Path,
    reads: bool,
) -> io::Result<(Command, PathBuf)> {
    let dir = dir.canonicalize()?;
    let mounts = match reads {
        true => worktree_to_read(&dir)?,
        false => worktree_to_write(&dir)?,
    };
    Ok((confinement.command(&mounts, &dir)?, dir))
}

/// For a command that changes nothing. `dir` is a real name, as in all that follows.
pub fn worktree_to_read(dir: &Path) -> io::Result<Vec<Mount>> {
    let (store, admin) = store_of(dir)?;
    let contents = store.join("lfs");
    let mut mounts = vec![Mount::ReadOnly(store)];
    if contents.is_dir() {
        // Git-lfs writes what it makes a pointer of.
        mounts.push(Mount::Blank(contents));
    }
    mounts.push(Mount::ReadOnly(admin));
    mounts.push(Mount::ReadOnly(dir.to_owned()));
    Ok(mounts)
}

/// All of the store is there to be changed, but for what is never git's to change.
pub fn worktree_to_write(dir: &Path) -> io::Result<Vec<Mount>> {
    let (store, admin) = store_of(dir)?;
    let mut mounts = match has_own_refs(&admin) {
        true => vec![Mount::ReadOnly(store)],
        false => {
            let mut mounts = vec![Mount::Writable(store.clone())];
            mounts.extend(STORE_FILES.map(|name| Mount::ReadOnlyIfThere(store.join(name))));
            // Git looks there for branches that are checked out elsewhere.
            mounts.push(Mount::ReadOnlyIfThere(store.join("worktrees")));
            mounts
        }
    };
    mounts.push(Mount::Writable(admin.clone()));
    mounts.extend(ADMIN_FILES.map(|name| Mount::ReadOnlyIfThere(admin.join(name))));
    mounts.push(Mount::Writable(dir.to_owned()));
    mounts.push(Mount::ReadOnlyIfThere(dir.join(".git")));
    let nested = repositories_at_gitlinks(dir, &admin)?;
    mounts.extend(nested.into_iter().map(Mount::Hidden));
    Ok(mounts)
}

/// The store and the registration of the worktree at `dir`, by where the yard puts them: what the worktree's own
/// `.git` says may have been planted.
fn store_of(dir: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let (Some(home), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    if let Some(found) = store_of_submodule(dir) {
        return Ok(found);
    }
    let store = home.join(".git");
    let admin = store.join("worktrees").join(name);
    Ok((store, admin))
}

/// The same of a submodule: its registration is in that of the worktree that it is in.
fn store_of_submodule(dir: &Path) -> Option<(PathBuf, PathBuf)> {
    dir.ancestors().skip(1).find_map(|outer| {
        let store = outer.parent()?.join(".git");
        let outer_admin = store.join("worktrees").join(outer.file_name()?);
        let path = dir.strip_prefix(outer).ok()?;
        let admin = outer_admin.join(submodule_registration(path));
        if has_own_refs(&admin) {
            return Some((store, admin));
        }
        let objects = fs::read_to_string(admin.join("commondir")).ok()?;
        Some((PathBuf::from(objects.trim_end()), admin))
    })
}

/// Whether a registration is that of a submodule of a workspace: its objects are lent by a store within that of the repository,
/// and nothing else of either is its own.
fn has_own_refs(admin: &Path) -> bool {
    admin.join(RECORD).is_file()
}

/// Directories of the worktree at `dir` that the index has as submodules and that hold a repository.
fn repositories_at_gitlinks(dir: &Path, admin: &Path) -> io::Result<Vec<PathBuf>> {
    let paths = gitlinks(&admin.join("index"))?;
    Ok(paths
        .into_iter()
        .filter(|path| is_directory_within(dir, path))
        .map(|path| dir.join(path))
        .filter(|path| fs::symlink_metadata(path.join(".git")).is_ok())
        .collect())
}

pub(super) fn gitlinks(index: &Path) -> io::Result<Vec<PathBuf>> {
    let as_path = |path: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(path));
    match IndexFile::read(index) {
        Ok(Some(index)) => {
            let links = index.entries().iter();
            let links = links.filter(|entry| entry.mode() == GITLINK);
            return Ok(links.map(|entry| as_path(index.path(entry))).collect());
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        // One that is not plain; libgit2 knows all kinds.
        Ok(None) | Err(_) => {}
    }
    let index = git2::Index::open(index).map_err(io::Error::other)?;
    let links = index.iter().filter(|entry| entry.mode == GITLINK);
    Ok(links.map(|entry| as_path(&entry.path)).collect())
}

/// Whether each part of `path` is a directory, and none a link to elsewhere.
pub(super) fn is_directory_within(dir: &Path, path: &Path) -> bool {
    let mut at = dir.to_owned();
    path.components().all(|part| {
        at.push(part);
        fs::symlink_metadata(&at).is_ok_and(|meta| meta.is_dir())
    })
}
