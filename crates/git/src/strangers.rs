//! Files in a worktree that was never completed which the checkout did not write.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Tree, TreeWalkMode, TreeWalkResult};

use super::file_comparer::hash_plain;
use super::{Error, Worktree, read_ref};
use crate::{ObjectId, Repository};
use branchyard_runtime::disk::Moment;

/// The files in `dir`, where those of `worktree` are now, that are not as its branch has them and were written since it was
/// `begun`. A build's output that was brought along is older.
pub fn strangers(worktree: &Worktree, dir: &Path, begun: Moment) -> Result<Vec<PathBuf>, Error> {
    let repo = worktree.open_store()?;
    let tip = read_ref(&repo, &worktree.branch().local_ref())?;
    strangers_to(&repo, tip.map(ObjectId::git2), dir, begun)
}

/// The same of a worktree that is to have the files of `commit`.
pub(crate) fn strangers_to(
    repo: &Repository,
    commit: Option<Oid>,
    dir: &Path,
    begun: Moment,
) -> Result<Vec<PathBuf>, Error> {
    let tree = commit.and_then(|commit| repo.git2().find_commit(commit).ok()?.tree().ok());
    let known = KnownObjects {
        repo,
        has_attributes: tree.as_ref().is_some_and(has_attributes),
        tree,
    };
    let mut found = Vec::new();
    let mut pending = vec![PathBuf::new()];
    let reading = || Error::io("look through a half-made workspace");
    while let Some(inner) = pending.pop() {
        for entry in fs::read_dir(dir.join(&inner)).map_err(reading())? {
            let entry = entry.map_err(reading())?;
            let path = inner.join(entry.file_name());
            let meta = entry.metadata().map_err(reading())?;
            if meta.is_dir() {
                pending.push(path);
            } else if path != Path::new(".git")
                && begun.is_before_write(&meta)
                && !known.has(&path, &entry.path(), &meta).map_err(reading())?
            {
                found.push(path);
            }
        }
    }
    Ok(found)
}

struct KnownObjects<'a> {
    repo: &'a Repository,
    tree: Option<Tree<'a>>,
    /// What is written may differ from what is in the tree, and cannot be told from an edit.
    has_attributes: bool,
}

impl KnownObjects<'_> {
    /// Whether the file at `full` is what the tree has at `path`.
    fn has(&self, path: &Path, full: &Path, meta: &Metadata) -> io::Result<bool> {
        let entry = self.tree.as_ref().and_then(|tree| tree.get_path(path).ok());
        let Some(entry) = entry.filter(|entry| entry.kind() == Some(ObjectType::Blob)) else {
            return Ok(false);
        };
        if meta.is_symlink() {
            let target = fs::read_link(full)?;
            return Ok(self.is_blob(entry.id(), target.as_os_str().as_bytes()));
        }
        Ok(self.has_attributes || hash_plain(full)? == Some(entry.id()))
    }

    fn is_blob(&self, id: Oid, bytes: &[u8]) -> bool {
        let blob = self.repo.git2().find_blob(id);
        blob.is_ok_and(|blob| blob.content() == bytes)
    }
}

fn has_attributes(tree: &Tree<'_>) -> bool {
    let mut found = false;
    let walked = tree.walk(TreeWalkMode::PreOrder, |_, entry| {
        found |= entry.name_bytes() == b".gitattributes";
        match found {
            true => TreeWalkResult::Abort,
            false => TreeWalkResult::Ok,
        }
    });
    found || walked.is_err()
}
