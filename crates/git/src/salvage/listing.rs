//! Looking at salvages, and letting go of one.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use git2::Delta;

use super::{Manifest, PREFIX, Saved, archive, name};
use crate::repository::mode_of;
use crate::{Error, Repository, delete_ref};
use branchyard_model::{FileChange, SalvageId, SalvagedFile};
use branchyard_runtime::disk::if_there;

/// All salvages of a store. One that cannot be read is told of in the log and left as it is.
pub fn salvages(store: &Repository) -> Result<Vec<Manifest>, Error> {
    let mut found = Vec::new();
    for reference in store.git2().references_glob(&format!("{PREFIX}*"))? {
        let reference = reference?;
        let Some(commit) = reference.target() else {
            continue;
        };
        match Saved::load(store, commit) {
            Ok(saved) => found.push(saved.manifest),
            Err(error) => {
                let name = String::from_utf8_lossy(reference.name_bytes()).into_owned();
                let store = store.path().display();
                tracing::warn!(%store, name, %error, "a salvage cannot be read");
            }
        }
    }
    Ok(found)
}

/// What a salvage holds, against the commit that the workspace was at; what is archived comes last.
pub fn salvaged_files(
    store: &Repository,
    saved: &Saved,
    archives: &Path,
) -> Result<Vec<SalvagedFile>, Error> {
    let head = match &saved.manifest.salvage.commit {
        Some(commit) => Some(store.tree_of(crate::object_id(commit)?.git2())?),
        None => None,
    };
    let kept = saved.part(store, "worktree")?;
    let kept = kept.map(|tree| store.git2().find_tree(tree)).transpose()?;
    let odb = store.git2().odb()?;
    let diff = store.diff_trees(head.as_ref(), kept.as_ref())?;
    let mut files = Vec::new();
    for delta in diff.deltas() {
        let (change, file) = match delta.status() {
            Delta::Added => (FileChange::Added, delta.new_file()),
            Delta::Deleted => (FileChange::Deleted, delta.old_file()),
            _ => (FileChange::Changed, delta.new_file()),
        };
        // A submodule has no file of its own here.
        if mode_of(&file) == git2::FileMode::Commit {
            continue;
        }
        files.push(SalvagedFile {
            path: String::from_utf8_lossy(file.path_bytes().unwrap_or_default()).into_owned(),
            change,
            size: match change {
                FileChange::Deleted => 0,
                _ => odb.read_header(file.id())?.0 as u64,
            },
        });
    }
    let archive = archive::path(archives, saved.manifest.salvage.id);
    for path in &saved.manifest.archived {
        files.push(SalvagedFile {
            path: format!("{}/", path.path().to_string_lossy()),
            change: FileChange::Added,
            size: fs::metadata(&archive).map_or(0, |meta| meta.len()),
        });
    }
    Ok(files)
}

/// The bytes of one file of a salvage; `None` where it has no such file.
pub fn salvaged_file(
    store: &Repository,
    saved: &Saved,
    path: &Path,
) -> Result<Option<Vec<u8>>, Error> {
    let mut parts = path.components();
    let is_within = parts.all(|part| matches!(part, Component::Normal(_)));
    // No file is called so, and git has no answer to either.
    let is_name = !path.as_os_str().is_empty() && !path.as_os_str().as_bytes().contains(&0);
    let tree = saved.part(store, "worktree")?;
    let Some(tree) = tree.filter(|_| is_within && is_name) else {
        return Ok(None);
    };
    match store.git2().find_tree(tree)?.get_path(path) {
        Ok(entry) if entry.kind() == Some(git2::ObjectType::Blob) => {
            Ok(Some(store.git2().find_blob(entry.id())?.content().to_vec()))
        }
        Ok(_) => Ok(None),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Lets go of a salvage for good. Its objects go with the next clean-up of the store.
pub fn forget_salvage(store: &Repository, id: SalvageId, archives: &Path) -> Result<(), Error> {
    // The archive first: without a ref nobody would ever find it again.
    let removed = if_there(fs::remove_file(archive::path(archives, id)));
    removed.map_err(Error::io("delete the archive of a salvage"))?;
    delete_ref(store, &name(id))
}
