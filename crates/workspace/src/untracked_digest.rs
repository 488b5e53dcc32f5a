//! What a command would find in a workspace besides the tree that is checked out, as a digest: whether two
//! commands, one after the other or each in a workspace of its own, find the same.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{Error, Workspace};
use crate::submodules;
use branchyard_git::{self as git, Submodule, UntrackedEntry, UntrackedKind};
use branchyard_model::CommitId;

/// A digest of everything that lies beside the tracked files, ignored or not. Equal ones mean that no
/// file there was written, moved or made in between; without any file it is the same in every workspace.
/// `None` where the tracked files are not just those of `tree`. The caller holds the workspace's lock.
pub async fn untracked_digest(
    workspace: &Arc<Workspace>,
    tree: CommitId,
) -> Result<Option<String>, Error> {
    workspace
        .blocking(move |this| {
            let repo = this.worktree().open()?;
            let head = git::head(&repo)?;
            let is_tree = head.tree.to_string() == tree.as_str() && head.operation.is_none();
            let looked = submodules::scan(this, &repo)?;
            if !is_tree || looked.changed {
                return Ok(None);
            }
            let mut digest = Sha256::new();
            for submodule in Submodule::all(this.worktree())? {
                // A commit has its files only where it is filled.
                let commit = submodule.commit().filter(|_| submodule.is_linked());
                let commit = commit.map(|commit| commit.to_string());
                digest.update(submodule.path().as_os_str().as_bytes());
                digest.update(commit.unwrap_or_default());
            }
            for item in looked.untracked {
                note(&mut digest, this.path(), &item)?;
            }
            let digest = digest.finalize();
            Ok(Some(
                digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            ))
        })
        .await
}

/// A file by what the file system knows of it: nobody can write one and keep its change time. Of a
/// directory only what is in it counts.
fn note(digest: &mut Sha256, workdir: &Path, item: &UntrackedEntry) -> Result<(), Error> {
    let (path, meta) = (item.path.as_os_str().as_bytes(), &item.meta);
    digest.update(u64::try_from(path.len()).unwrap_or(u64::MAX).to_le_bytes());
    digest.update(path);
    digest.update(meta.mode().to_le_bytes());
    if item.kind == UntrackedKind::File {
        for number in [meta.dev(), meta.ino(), meta.size()] {
            digest.update(number.to_le_bytes());
        }
        for number in [
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ] {
            digest.update(number.to_le_bytes());
        }
        return Ok(());
    }
    for inside in git::untracked_in(workdir, &item.path)? {
        note(digest, workdir, &inside)?;
    }
    Ok(())
}
