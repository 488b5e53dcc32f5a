//! Whether files of a worktree are what the index or a tree has at their paths. Our own code reads them: libgit2 opens
//! by name what it took for a file a moment ago, and a FIFO in its place would block that thread for ever.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY as SHA1};
use git2::{DiffOptions, ObjectType, Oid};
use rustix::fs::FileType;

use super::attributes::{FILE_NAME as ATTRIBUTES, may_apply};
use super::gitlink::nested_head;
use super::lfs::LfsPointer;
use super::plain_file::open_plain;
use super::still_files::StillFiles;
use super::untracked_entry::GITLINK;
use super::verbs::ChangeKind;
use super::verbs::conflicts::{Read, Working};
use super::{Error, files_of, small_index};
use crate::Repository;
use crate::repository::TYPE;

const LINK: u32 = 0o120_000;
const REGULAR: u32 = 0o100_644;
const EXECUTABLE: u32 = 0o100_755;
/// More attributes than anybody has.
const MAX_ATTRIBUTES: u64 = 1 << 20;
/// From this size on a file is held against the size of its blob before it is read.
const LARGE: u64 = 1 << 20;
/// A larger file counts as modified where git might convert it: that has to be done in memory.
pub(super) const MAX_CONVERTED: u64 = 64 << 20;
const PORTION: usize = 64 << 10;

/// What became of a tracked file, and what is there now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub kind: ChangeKind,
    /// Zero where the file is gone.
    pub mode: u32,
    /// The blob that the file would be, where it was hashed and git converts nothing.
    pub(crate) id: Option<Oid>,
}

pub(crate) struct FileComparer<'repo> {
    repo: &'repo Repository,
    workdir: PathBuf,
    files: Working,
    /// A setting or a file of the store may convert every file.
    converts_all: bool,
    attributes: RefCell<HashMap<PathBuf, Option<Rc<[u8]>>>>,
}

/// What reading a file to its end tells of it.
struct Hashed {
    id: Oid,
    has_returns: bool,
}

impl<'repo> FileComparer<'repo> {
    /// `None` for a repository without files.
    pub(crate) fn new(repo: &'repo Repository) -> Result<Option<Self>, Error> {
        let Some(workdir) = files_of(repo) else {
            return Ok(None);
        };
        let config = repo.git2().config()?;
        let is_set = |name| config.get_string(name).is_ok_and(|value| value != "false");
        let store = repo.git2().commondir().join("info/attributes");
        Ok(Some(Self {
            repo,
            files: Working::open(&workdir)?,
            workdir,
            converts_all: is_set("core.autocrlf")
                || is_set("core.attributesFile")
                || store.symlink_metadata().is_ok(),
            attributes: RefCell::default(),
        }))
    }

    /// How the file at `path` differs from this entry; `None` where it does not.
    pub(crate) fn change(
        &self,
        mode: u32,
        id: Oid,
        path: &Path,
    ) -> Result<Option<FileChange>, Error> {
        let is_now = |kind, mode, id| Some(FileChange { kind, mode, id });
        let gone = is_now(ChangeKind::Deleted, 0, None);
        let Some(stat) = self.files.stat(path).map_err(Error::io("look at a file"))? else {
            return Ok(gone);
        };
        let found = FileType::from_raw_mode(stat.st_mode);
        let is_executable = stat.st_mode & 0o100 != 0;
        let now = match found {
            FileType::Directory if mode == GITLINK => {
                let head = nested_head(&self.workdir.join(path)).filter(|head| *head != id);
                return Ok(head.and_then(|head| is_now(ChangeKind::Modified, mode, Some(head))));
            }
            FileType::RegularFile if is_executable => EXECUTABLE,
            FileType::RegularFile => REGULAR,
            FileType::Symlink => LINK,
            // Git keeps nothing else, so that what it keeps is gone.
            _ => return Ok(gone),
        };
        let differs = |kind, id| is_now(kind, now, id);
        let kind_of = |mode: u32| mode & TYPE;
        if kind_of(mode) != kind_of(now) {
            return Ok(differs(ChangeKind::TypeChanged, None));
        }
        if now == LINK {
            let Some(target) = self.files.link(path) else {
                return Ok(gone);
            };
            let target = Oid::hash_object(ObjectType::Blob, &target)?;
            return Ok(match target == id {
                true => None,
                false => differs(ChangeKind::Modified, Some(target)),
            });
        }
        let opened = match self.files.open_file(path) {
            Ok(opened) => opened,
            // Whatever cannot be read is not what it was.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(differs(ChangeKind::Modified, None));
            }
            Err(error) => return Err(Error::io("open a file")(error)),
        };
        let Some(file) = opened else {
            return Ok(gone);
        };
        let len = file.metadata().map_err(Error::io("look at a file"))?.len();
        if let Some(pointer) = self.pointer(id)
            && pointer.size() == len
            && self.may_convert(path, true)?
        {
            let is_same = pointer.is_of(file).map_err(Error::io("read a file"))?;
            return Ok(differs(ChangeKind::Modified, None).filter(|_| !is_same || now != mode));
        }
        if len > LARGE && !self.may_be_of_length(id, len) && !self.may_convert(path, true)? {
            return Ok(differs(ChangeKind::Modified, None));
        }
        if len > MAX_CONVERTED && self.may_convert(path, true)? {
            return Ok(differs(ChangeKind::Modified, None));
        }
        let hashed = hash(file, len).map_err(Error::io("read a file"))?;
        let (is_same, hashed) = match self.may_convert(path, hashed.has_returns)? {
            true => (self.is_same_when_converted(id, path)?, None),
            false => (hashed.id == id, Some(hashed.id)),
        };
        let is_changed = !is_same || (now != mode && mode != 0o100_664);
        Ok(differs(ChangeKind::Modified, hashed).filter(|_| is_changed))
    }

    /// Whether the blob `id` has so many bytes.
    fn may_be_of_length(&self, id: Oid, len: u64) -> bool {
        let header = self.repo.git2().odb().and_then(|odb| odb.read_header(id));
        header.map_or(true, |(size, _)| size as u64 == len)
    }

    /// The pointer that the blob `id` is, if git-lfs keeps a content for it.
    fn pointer(&self, id: Oid) -> Option<LfsPointer> {
        let objects = self.repo.git2().odb().ok()?;
        let (size, _) = objects.read_header(id).ok()?;
        let blob = (size as u64 <= LfsPointer::MOST).then(|| self.repo.git2().find_blob(id));
        LfsPointer::parse(blob?.ok()?.content())
    }

    /// Whether git may keep the file in another form than it has in the worktree.
    fn may_convert(&self, path: &Path, has_returns: bool) -> Result<bool, Error> {
        if self.converts_all {
            return Ok(true);
        }
        for directory in path.ancestors().skip(1) {
            let Some(attributes) = self.attributes_of(directory)? else {
                continue;
            };
            let inside = directory.join("");
            let (inside, path) = (inside.as_os_str().as_bytes(), path.as_os_str().as_bytes());
            // All that `text` by itself changes is how lines end.
            if has_returns || may_apply(&attributes, inside, path) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn attributes_of(&self, directory: &Path) -> Result<Option<Rc<[u8]>>, Error> {
        if let Some(known) = self.attributes.borrow().get(directory) {
            return Ok(known.clone());
        }
        let path = directory.join(OsStr::from_bytes(ATTRIBUTES));
        let found: Option<Rc<[u8]>> = match self.files.read(&path, MAX_ATTRIBUTES) {
            Read::Whole(attributes) => Some(attributes.into()),
            Read::TooLarge => None,
            // Without one git goes by the one that it knows.
            Read::NoFile => self.tracked_attributes(&path),
        };
        let mut known = self.attributes.borrow_mut();
        known.insert(directory.to_owned(), found.clone());
        Ok(found)
    }

    fn tracked_attributes(&self, path: &Path) -> Option<Rc<[u8]>> {
        let entry = self.repo.head_tree().ok()?.get_path(path).ok()?;
        let blob = self.repo.git2().find_blob(entry.id()).ok()?;
        Some(blob.content().into())
    }

    /// Whether libgit2, which converts as git does, finds a copy of the file to be that blob.
    fn is_same_when_converted(&self, id: Oid, path: &Path) -> Result<bool, Error> {
        let still = StillFiles::new(self.repo)?;
        still.take(&self.files, path)?;
        // The mode that the copy has: only contents are compared.
        let mode = match still.is_executable(path) {
            true => EXECUTABLE,
            false => REGULAR,
        };
        let mut index = small_index([(mode, id, path.as_os_str().as_bytes())].into_iter())?;
        for directory in path.ancestors().skip(1) {
            let name = directory.join(OsStr::from_bytes(ATTRIBUTES));
            if let Some(attributes) = self.attributes_of(directory)?
                && name != path
            {
                still.write(&name, &attributes)?;
            }
        }
        still.repo().git2().set_index(&mut index)?;
        let mut options = DiffOptions::new();
        options.disable_pathspec_match(true).pathspec(path);
        let copies = still.repo().git2();
        let diff = copies.diff_index_to_workdir(None, Some(&mut options))?;
        Ok(diff.deltas().len() == 0)
    }
}

/// The blob that a file of `len` bytes is.
fn hash(mut file: File, len: u64) -> io::Result<Hashed> {
    let mut context = Context::new(&SHA1);
    context.update(format!("blob {len}\0").as_bytes());
    let (mut portion, mut has_returns) = (vec![0; PORTION], false);
    let mut left = len;
    loop {
        let read = match file.read(&mut portion) {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // A file that grows meanwhile is another one, and may grow without end.
        if read == 0 || read as u64 > left {
            break;
        }
        left -= read as u64;
        has_returns = has_returns || memchr::memchr(b'\r', &portion[..read]).is_some();
        context.update(&portion[..read]);
    }
    let id = Oid::from_bytes(context.finish().as_ref()).map_err(io::Error::other)?;
    Ok(Hashed { id, has_returns })
}

/// The blob that the file or link at `path` is; `None` where that cannot be told.
pub(super) fn hash_at(path: &Path, meta: &Metadata) -> Option<Oid> {
    if !meta.is_symlink() {
        return hash_plain(path).ok()?;
    }
    let target = std::fs::read_link(path).ok()?;
    Oid::hash_object(ObjectType::Blob, target.as_os_str().as_bytes()).ok()
}

/// The blob that the regular file at `path` is; `None` where there is something else, or nothing.
pub(super) fn hash_plain(path: &Path) -> io::Result<Option<Oid>> {
    let Some(file) = open_plain(path)? else {
        return Ok(None);
    };
    let len = file.metadata()?.len();
    Ok(Some(hash(file, len)?.id))
}
