//! Making a salvage. Nothing of the workspace is changed; what was written is on the disk, not only on
//! its way there, before the ref says that it is saved.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use git2::{ObjectType, Oid, Signature};

use super::archive::Archive;
use super::attributes;
use super::files::{Blobs, Drawer, FILE, Kept, SUBMODULE};
use super::named::{ids_in, unseen};
use super::proof::prove;
use super::{ExactPath, MANIFEST, Manifest, SavedStash, VERSION, name};
use crate::refs::parked_oid;
use crate::status::head_if_born;
use crate::submodule::record::SUBMODULES;
use crate::verbs::shown;
use crate::{Error, Repository, Stash, Worktree, read_ref};
use branchyard_config::crash_point;
use branchyard_model::{CommitId, Salvage};
use branchyard_runtime::disk::if_there;

/// What of a workspace is to be saved beside its tracked files; relative to it.
#[derive(Debug, Default)]
pub struct Contents {
    pub files: Vec<PathBuf>,
    pub empty: Vec<PathBuf>,
    /// Repositories within, each whole.
    pub repositories: Vec<PathBuf>,
    /// Git's own files of those that are submodules, by their names among the registrations.
    pub submodules: Vec<PathBuf>,
    pub stashes: Vec<Stash>,
}

/// Git's files that are about the place and not about the work in it, or are ours.
const NOT_WORK: [&str; 5] = ["index", "commondir", "gitdir", "config.worktree", "locked"];

/// Saves all work of the workspace. Archives are kept in `archives`.
pub fn save(
    worktree: &Worktree,
    mut salvage: Salvage,
    tick: u64,
    contents: &Contents,
    archives: &Path,
) -> Result<Manifest, Error> {
    let repo = worktree.open()?;
    // A file may be closed to others, and its object is not.
    fs::set_permissions(repo.git2().commondir(), fs::Permissions::from_mode(0o700))
        .map_err(Error::io("close the store to others"))?;
    let mut drawer = Drawer::new(&repo)?;
    let mut manifest = Manifest {
        version: VERSION,
        tick,
        tip: read_ref(&repo, &worktree.branch().local_ref())?.and_then(|tip| commit_id(tip.git2())),
        stashes: contents.stashes.iter().filter_map(saved_stash).collect(),
        modes: Vec::new(),
        empty: contents.empty.iter().map(|path| exact(path)).collect(),
        archived: Vec::new(),
        pipes: Vec::new(),
        attributes: Vec::new(),
        salvage: salvage.clone(),
    };
    let at = head_if_born(&repo)?;
    salvage.commit = at.as_ref().and_then(|head| commit_id(head.commit.git2()));
    manifest.salvage = salvage;

    let mut archive = Archive::new(archives, manifest.salvage.id);
    for path in &contents.repositories {
        archive.add("worktree", worktree.path(), path)?;
        manifest.archived.push(exact(path));
    }
    for name in &contents.submodules {
        archive.add("admin", worktree.admin(), &Path::new(SUBMODULES).join(name))?;
    }
    keep_files(&mut drawer, worktree, contents, &mut archive, &mut manifest)?;
    let left_out = archive.left_out().map(shown);
    manifest.salvage.not_saved.extend(left_out);
    keep_index(&mut drawer, worktree.admin())?;
    let mut named = at.iter().map(|head| head.commit.git2()).collect::<Vec<_>>();
    named.extend(manifest.tip.iter().filter_map(oid));
    named.extend(parked_oid(&repo, worktree.branch())?);
    named.extend(contents.stashes.iter().map(|stash| stash.commit.git2()));
    keep_admin(&mut drawer, worktree.admin(), &mut named)?;
    prove(&repo, &named)?;
    archive.finish()?;
    crash_point("salvage-archived");

    let json = serde_json::to_vec_pretty(&manifest)
        .map_err(|error| Error::io("describe a salvage")(error.into()))?;
    drawer.bytes(Path::new(MANIFEST), &json)?;
    let commit = commit(&repo, &mut drawer, &manifest, &named)?;
    crash_point("salvage-written");
    let disk = fs::File::open(repo.git2().commondir()).map_err(Error::io("open the store"))?;
    let sync = || rustix::fs::syncfs(&disk).map_err(|error| Error::io("save work")(error.into()));
    sync()?;
    repo.git2()
        .reference(&name(manifest.salvage.id), commit, false, "salvage")?;
    archive.settle()?;
    sync()?;
    crash_point("salvage-named");
    Ok(manifest)
}

fn keep_files(
    drawer: &mut Drawer<'_>,
    worktree: &Worktree,
    contents: &Contents,
    archive: &mut Archive,
    manifest: &mut Manifest,
) -> Result<(), Error> {
    let mut blobs = Blobs::new(worktree.path(), drawer.repo())?;
    let tracked = blobs.tracked();
    for path in tracked.iter().chain(&contents.files) {
        let Some(kept) = blobs.keep(path)? else {
            continue;
        };
        let place = Path::new("worktree").join(path);
        match kept {
            Kept::Pipe(permissions) => {
                manifest.pipes.push((exact(path), permissions));
                continue;
            }
            Kept::Unsavable => {
                manifest.salvage.not_saved.push(shown(path));
                continue;
            }
            Kept::Blob { .. } | Kept::Sparse => keep_attributes(worktree, path, manifest)?,
        }
        match kept {
            // Some names mean something to git; whatever it refuses to hold goes into the archive.
            Kept::Blob { id, mode, unusual } if drawer.add(&place, id, mode).is_ok() => {
                let unusual = unusual.map(|permissions| (exact(path), permissions));
                manifest.modes.extend(unusual);
            }
            _ => {
                archive.add("worktree", worktree.path(), path)?;
                manifest.archived.push(exact(path));
            }
        }
    }
    for path in &contents.empty {
        blobs.keep_dir(path);
    }
    for (dir, permissions) in blobs.dirs() {
        if let Some(permissions) = permissions {
            manifest.modes.push((exact(dir), *permissions));
        }
        keep_attributes(worktree, dir, manifest)?;
    }
    Ok(())
}

fn keep_attributes(worktree: &Worktree, path: &Path, manifest: &mut Manifest) -> Result<(), Error> {
    let found = attributes::of(&worktree.path().join(path)).map_err(Error::io(format!(
        "read the extended attributes of {}",
        path.display()
    )))?;
    if !found.is_empty() {
        manifest.attributes.push((exact(path), found));
    }
    Ok(())
}

/// The index as a file, and what it names, so that no object of it can go.
fn keep_index(drawer: &mut Drawer<'_>, admin: &Path) -> Result<(), Error> {
    let raw = if_there(fs::read(admin.join("index"))).map_err(Error::io("read the index"))?;
    let Some(raw) = raw else {
        return Ok(());
    };
    drawer.bytes(Path::new("index"), &raw)?;
    // `intent-to-add` names it without there being one.
    let odb = drawer.repo().git2().odb()?;
    odb.write(ObjectType::Blob, b"")?;
    let index = drawer.repo().git2().index()?;
    for entry in index.iter() {
        use std::os::unix::ffi::OsStrExt;
        let path = Path::new(std::ffi::OsStr::from_bytes(&entry.path));
        let stage = (entry.flags >> 12) & 3;
        let place = match stage {
            0 => PathBuf::from("index-tree"),
            stage => Path::new("stages").join(stage.to_string()),
        };
        if entry.mode == SUBMODULE || odb.exists(entry.id) {
            drawer.add(&place.join(path), entry.id, entry.mode)?;
        } else {
            tracing::warn!(path = %path.display(), object = %entry.id, "the index names an object that is not there");
        }
    }
    Ok(())
}

/// Git's own files about the workspace; `named` gains the commits that they name.
fn keep_admin(drawer: &mut Drawer<'_>, admin: &Path, named: &mut Vec<Oid>) -> Result<(), Error> {
    let mut logged = Vec::new();
    let mut pending = vec![PathBuf::new()];
    while let Some(dir) = pending.pop() {
        let entries = fs::read_dir(admin.join(&dir)).map_err(Error::io("read git's own files"))?;
        for entry in entries {
            let entry = entry.map_err(Error::io("read git's own files"))?;
            let path = dir.join(entry.file_name());
            let kind = entry
                .file_type()
                .map_err(Error::io("read git's own files"))?;
            if kind.is_dir() && path != Path::new(SUBMODULES) {
                pending.push(path);
            } else if kind.is_file() && is_work(&path) {
                let bytes =
                    fs::read(admin.join(&path)).map_err(Error::io("read git's own files"))?;
                let place = if path.starts_with("logs") {
                    &mut logged
                } else {
                    &mut *named
                };
                place.extend(ids_in(&bytes));
                drawer.bytes(&Path::new("admin").join(&path), &bytes)?;
            }
        }
    }
    named.extend(unseen(drawer.repo(), &logged)?);
    Ok(())
}

fn is_work(path: &Path) -> bool {
    let name = path.to_string_lossy();
    !NOT_WORK.contains(&&*name) && !name.starts_with("branchyard.") && !name.ends_with(".lock")
}

fn commit(
    repo: &Repository,
    drawer: &mut Drawer<'_>,
    manifest: &Manifest,
    named: &[Oid],
) -> Result<Oid, Error> {
    let mut known = HashSet::new();
    let mut parents = Vec::new();
    for id in named {
        if !known.insert(*id) {
            continue;
        }
        // A file may hold forty digits that name nothing.
        let Ok(object) = repo.git2().find_object(*id, None) else {
            continue;
        };
        let place = Path::new("objects").join(id.to_string());
        match object.kind() {
            Some(ObjectType::Commit) => parents.push(repo.git2().find_commit(*id)?),
            Some(ObjectType::Tag) => parents.extend(object.peel_to_commit()),
            Some(ObjectType::Tree) => drawer.tree(&place, *id)?,
            _ => drawer.add(&place, *id, FILE)?,
        }
    }
    let tree = repo.git2().find_tree(drawer.close()?)?;
    let salvage = &manifest.salvage;
    let who = Signature::now("Branchyard", "branchyard@localhost")?;
    let (branch, work) = (&salvage.branch, salvage.work.join("\n"));
    let message = format!("Salvage of {branch}\n\n{work}\n");
    let (parents, repo): (Vec<_>, _) = (parents.iter().collect(), repo.git2());
    Ok(repo.commit(None, &who, &who, &message, &tree, &parents)?)
}

fn exact(path: &Path) -> ExactPath {
    path.into()
}

fn commit_id(id: Oid) -> Option<CommitId> {
    CommitId::parse(&id.to_string()).ok()
}

fn oid(commit: &CommitId) -> Option<Oid> {
    Oid::from_str(commit.as_str()).ok()
}

fn saved_stash(stash: &Stash) -> Option<SavedStash> {
    Some(SavedStash {
        commit: commit_id(stash.commit.git2())?,
        message: stash.message.clone(),
    })
}
