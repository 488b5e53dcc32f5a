//! Files of a workspace as objects, byte for byte, and the tree that they go into.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use git2::{Index, IndexTime, ObjectType, Odb, Oid};

use crate::file_comparer::hash_plain;
use crate::scan::untimed_entry;
use crate::untracked_entry::is_absence;
use crate::{Error, Repository, open_plain};
use branchyard_runtime::disk::Room;

pub(super) const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
pub(super) const LINK: u32 = 0o120_000;
pub(super) const SUBMODULE: u32 = 0o160_000;
/// What a checkout gives to files and programs, by the umask of whoever runs it.
const USUAL: [u32; 4] = [0o644, 0o755, 0o664, 0o775];
const USUAL_DIRS: [u32; 2] = [0o755, 0o775];
/// A smaller file is saved as a blob, holes and all.
const LARGE: u64 = 64 << 20;
/// The unit in which the system counts what a file takes.
const BLOCK: u64 = 512;

/// A file in a tree: its path, its object, its mode.
pub(super) type Entry = (PathBuf, Oid, u32);

/// Everything in a tree but the directories themselves, whatever bytes their names have.
pub(super) fn entries_of(repo: &Repository, tree: Oid) -> Result<Vec<Entry>, Error> {
    let mut found = Vec::new();
    let mut pending = vec![(PathBuf::new(), tree)];
    while let Some((dir, id)) = pending.pop() {
        for entry in &repo.git2().find_tree(id)? {
            let path = dir.join(OsStr::from_bytes(entry.name_bytes()));
            match entry.kind() {
                Some(ObjectType::Tree) => pending.push((path, entry.id())),
                _ => found.push((
                    path,
                    entry.id(),
                    u32::try_from(entry.filemode()).unwrap_or(FILE),
                )),
            }
        }
    }
    Ok(found)
}

/// A tree that is being put together.
pub(super) struct Drawer<'a> {
    repo: &'a Repository,
    odb: Odb<'a>,
    index: Index,
}

impl<'a> Drawer<'a> {
    pub(super) fn new(repo: &'a Repository) -> Result<Self, Error> {
        Ok(Self {
            repo,
            odb: repo.git2().odb()?,
            index: Index::new()?,
        })
    }

    pub(super) fn repo(&self) -> &'a Repository {
        self.repo
    }

    pub(super) fn bytes(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        let id = self.odb.write(ObjectType::Blob, bytes)?;
        self.add(path, id, FILE)
    }

    pub(super) fn add(&mut self, path: &Path, id: Oid, mode: u32) -> Result<(), Error> {
        let entry = untimed_entry(mode, id, path.as_os_str().as_bytes());
        Ok(self.index.add(&entry)?)
    }

    /// A whole tree that is in the store already.
    pub(super) fn tree(&mut self, path: &Path, id: Oid) -> Result<(), Error> {
        for (place, id, mode) in entries_of(self.repo, id)? {
            self.add(&path.join(place), id, mode)?;
        }
        Ok(())
    }

    pub(super) fn close(&mut self) -> Result<Oid, Error> {
        Ok(self.index.write_tree_to(self.repo.git2())?)
    }
}

/// A file as it was found.
#[derive(Debug)]
pub(super) enum Kept {
    Blob {
        id: Oid,
        mode: u32,
        /// Its permissions, where git would not keep them.
        unusual: Option<u32>,
    },
    /// A large file that is mostly holes: as a blob it would take as long as if they were written.
    Sparse,
    /// A named pipe, with its permissions.
    Pipe(u32),
    /// A socket is nothing without who listens to it, and to make a device takes an administrator.
    Unsavable,
}

/// Turns files of a workspace into blobs.
pub(super) struct Blobs<'a> {
    workdir: &'a Path,
    odb: Odb<'a>,
    index: Index,
    /// When the index was written: a file that changed in the same moment may look unchanged.
    written: IndexTime,
    /// Files may differ from their blobs by what attributes say, and still count as unchanged.
    has_attributes: bool,
    /// Directories on the way, with their permissions where git would not keep them.
    dirs: BTreeMap<PathBuf, Option<u32>>,
}

impl<'a> Blobs<'a> {
    pub(super) fn new(workdir: &'a Path, repo: &'a Repository) -> Result<Self, Error> {
        let index = repo.fresh_index()?;
        let written = index
            .path()
            .and_then(|path| fs::metadata(path).ok())
            .map_or(IndexTime::new(0, 0), |meta| modified(&meta));
        let has_attributes = index
            .iter()
            .any(|entry| entry.path.ends_with(b".gitattributes"));
        Ok(Self {
            workdir,
            odb: repo.git2().odb()?,
            index,
            written,
            has_attributes,
            dirs: BTreeMap::new(),
        })
    }

    /// The paths in the index; where a submodule belongs there may be a file.
    pub(super) fn tracked(&self) -> Vec<PathBuf> {
        let mut paths: Vec<_> = self
            .index
            .iter()
            .map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path)))
            .collect();
        paths.dedup();
        paths
    }

    /// The file at `path`; `None` where there is none.
    pub(super) fn keep(&mut self, path: &Path) -> Result<Option<Kept>, Error> {
        let full = self.workdir.join(path);
        let reading = || Error::io(format!("read {}", full.display()));
        if !self.is_beneath(path) {
            return Ok(None);
        }
        let meta = match fs::symlink_metadata(&full) {
            Ok(meta) => meta,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(reading()(error)),
        };
        let kind = meta.file_type();
        if kind.is_dir() {
            return Ok(None);
        }
        if kind.is_symlink() {
            let target = fs::read_link(&full).map_err(reading())?;
            let target = target.as_os_str().as_bytes();
            return Ok(Some(Kept::Blob {
                id: self.odb.write(ObjectType::Blob, target)?,
                mode: LINK,
                unusual: None,
            }));
        }
        let permissions = meta.permissions().mode() & 0o7777;
        if kind.is_fifo() {
            return Ok(Some(Kept::Pipe(permissions)));
        }
        if !kind.is_file() {
            return Ok(Some(Kept::Unsavable));
        }
        if meta.len() > LARGE && meta.blocks() * BLOCK < meta.len() / 2 {
            return Ok(Some(Kept::Sparse));
        }
        let id = match self.unchanged(path, &meta) {
            None => self.store(&full)?,
            known => known,
        };
        let is_program = permissions & 0o100 != 0;
        Ok(id.map(|id| Kept::Blob {
            id,
            mode: if is_program { PROGRAM } else { FILE },
            unusual: (!USUAL.contains(&permissions)).then_some(permissions),
        }))
    }

    /// Whether the way to `path` leads through directories alone: behind a link lies another place.
    fn is_beneath(&mut self, path: &Path) -> bool {
        match path.parent().filter(|dir| *dir != Path::new("")) {
            Some(dir) => self.keep_dir(dir),
            None => true,
        }
    }

    /// Takes note of a directory, and of those on the way. Whether it is one, and not behind a link.
    pub(super) fn keep_dir(&mut self, dir: &Path) -> bool {
        if self.dirs.contains_key(dir) {
            return true;
        }
        if !self.is_beneath(dir) {
            return false;
        }
        match fs::symlink_metadata(self.workdir.join(dir)) {
            Ok(meta) if meta.is_dir() => {
                let permissions = meta.permissions().mode() & 0o7777;
                let unusual = (!USUAL_DIRS.contains(&permissions)).then_some(permissions);
                self.dirs.insert(dir.to_owned(), unusual);
                true
            }
            _ => false,
        }
    }

    /// The directories that kept files are in, and what else was noted.
    pub(super) fn dirs(&self) -> &BTreeMap<PathBuf, Option<u32>> {
        &self.dirs
    }

    /// The blob that the index has for a file which was not touched since.
    fn unchanged(&self, path: &Path, meta: &Metadata) -> Option<Oid> {
        if self.has_attributes {
            return None;
        }
        let entry = self.index.get_path(path, 0)?;
        let (changed, modified) = (changed(meta), modified(meta));
        // The index keeps 32 bits of these.
        #[expect(clippy::cast_possible_truncation, reason = "as the index does")]
        let same = entry.mtime == modified
            && entry.ctime == changed
            && entry.ino == meta.ino() as u32
            && entry.file_size == meta.len() as u32
            && later(self.written, modified);
        // Attributes that nobody tracks may have changed line endings on the way in.
        let is_as_long = || {
            let header = self.odb.read_header(entry.id);
            header.is_ok_and(|(len, _)| len as u64 == meta.len())
        };
        (same && is_as_long()).then_some(entry.id)
    }

    /// `None` where it is no file any more.
    fn store(&self, full: &Path) -> Result<Option<Oid>, Error> {
        let reading = || Error::io(format!("save {}", full.display()));
        let Some(id) = hash_plain(full).map_err(reading())? else {
            return Ok(None);
        };
        if self.odb.exists(id) {
            return Ok(Some(id));
        }
        let Some(file) = open_plain(full).map_err(reading())? else {
            return Ok(None);
        };
        let len = file.metadata().map_err(reading())?.len();
        let size = usize::try_from(len)
            .map_err(io::Error::other)
            .map_err(reading())?;
        let mut writer = self.odb.writer(size, ObjectType::Blob)?;
        // A build may write more to it meanwhile.
        let written = io::copy(&mut file.take(len), &mut writer);
        // What it could not write to is gone with the writer, and libgit2 keeps the reason to itself.
        let shortage = written.is_err().then(|| Room::shortage_at(self.workdir));
        if let Some(shortage) = shortage.flatten() {
            let full = io::Error::new(io::ErrorKind::StorageFull, shortage.to_string());
            return Err(reading()(full));
        }
        written.map_err(reading())?;
        Ok(Some(writer.finalize()?))
    }
}

fn later(a: IndexTime, b: IndexTime) -> bool {
    (a.seconds(), a.nanoseconds()) > (b.seconds(), b.nanoseconds())
}

fn modified(meta: &Metadata) -> IndexTime {
    index_time(meta.mtime(), meta.mtime_nsec())
}

fn changed(meta: &Metadata) -> IndexTime {
    index_time(meta.ctime(), meta.ctime_nsec())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "as the index does"
)]
fn index_time(seconds: i64, nanoseconds: i64) -> IndexTime {
    IndexTime::new(seconds as i32, nanoseconds as u32)
}
