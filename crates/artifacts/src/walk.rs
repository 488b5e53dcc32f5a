//! A look through the directories of a job for what a search means.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, fstat, statat};
use rustix::io::Errno;

use crate::beneath;
use crate::error::{ArtifactError, shown};
use crate::left_out::{LeftOut, Reason};
use crate::search::{Matching, PathSearch, SearchPath};

/// A path that a kernel could not open is of no use; this leaves room for where it is restored.
const MAX_PATH_BYTES: usize = 3000;
const MAX_DEPTH: usize = 250;
/// More than this is a mistake or an attack, and takes minutes.
const MAX_LOOKED_AT: usize = 4_000_000;

/// Something that is meant.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FoundEntry {
    pub(crate) dir: usize,
    pub(crate) path: PathBuf,
    pub(crate) kind: EntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum EntryKind {
    Dir,
    File,
    Link,
}

/// What is left out of what matches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Leave {
    /// Names that begin with a dot.
    pub(crate) hidden: bool,
    /// Git's own files.
    pub(crate) git: bool,
    pub(crate) links: bool,
}

/// Tells `found` all that is meant, directories before what is in them. Returns what was left out.
pub(crate) fn walk(
    search: &PathSearch<'_>,
    leave: Leave,
    found: &mut dyn FnMut(FoundEntry) -> Result<(), ArtifactError>,
) -> Result<LeftOut, ArtifactError> {
    let mut walk = Walk {
        search,
        leave,
        found,
        left_out: LeftOut::default(),
        looked_at: 0,
    };
    for path in search.search_paths() {
        walk.begin(&path)?;
    }
    Ok(walk.left_out)
}

struct Walk<'a> {
    search: &'a PathSearch<'a>,
    leave: Leave,
    found: &'a mut dyn FnMut(FoundEntry) -> Result<(), ArtifactError>,
    left_out: LeftOut,
    looked_at: usize,
}

/// A directory that is to be looked into.
struct Pending {
    path: PathBuf,
    matching: Matching,
}

impl Walk<'_> {
    fn begin(&mut self, at: &SearchPath) -> Result<(), ArtifactError> {
        let SearchPath { dir, path } = at;
        let root = match beneath::open_root(self.search.real(*dir)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            root => root.map_err(ArtifactError::io("open a directory of the job"))?,
        };
        let named = match beneath::name(&root, path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
                self.left_out.add(Reason::Link, path);
                return Ok(());
            }
            Err(error) if beneath::has_changed(&error) => return Ok(()),
            named => named.map_err(failed(path))?,
        };
        let stat = fstat(&named).map_err(|errno| failed(path)(errno.into()))?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind.is_symlink() && self.leave.links {
            // What it leads to may be meant.
            self.left_out.add(Reason::Link, path);
            return Ok(());
        }
        let names = path.iter();
        let mut parent = self.search.start(*dir);
        let mut own = parent.clone();
        for name in names {
            let next = self.search.step(&own, name);
            parent = std::mem::replace(&mut own, next);
        }
        let mut pending = Vec::new();
        self.look_at(*dir, path.clone(), kind, (&parent, own), &mut pending)?;
        while let Some(inner) = pending.pop() {
            self.look_into(*dir, &root, &inner, &mut pending)?;
        }
        Ok(())
    }

    fn look_into(
        &mut self,
        of: usize,
        root: &OwnedFd,
        at: &Pending,
        pending: &mut Vec<Pending>,
    ) -> Result<(), ArtifactError> {
        let dir = match beneath::open_dir(root, &at.path) {
            Err(error) if beneath::has_changed(&error) => {
                self.left_out.add(Reason::Changed, &at.path);
                return Ok(());
            }
            dir => dir.map_err(failed(&at.path))?,
        };
        let wrong = |errno: Errno| failed(&at.path)(errno.into());
        for entry in Dir::read_from(&dir).map_err(wrong)? {
            let entry = entry.map_err(wrong)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let own = self.search.step(&at.matching, name);
            let kind = match entry.file_type() {
                // Some file systems do not say it in the listing.
                FileType::Unknown => match statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Err(Errno::NOENT) => continue,
                    stat => FileType::from_raw_mode(stat.map_err(wrong)?.st_mode),
                },
                kind => kind,
            };
            self.look_at(of, at.path.join(name), kind, (&at.matching, own), pending)?;
        }
        Ok(())
    }

    fn look_at(
        &mut self,
        dir: usize,
        path: PathBuf,
        kind: FileType,
        (parent, own): (&Matching, Matching),
        pending: &mut Vec<Pending>,
    ) -> Result<(), ArtifactError> {
        self.looked_at += 1;
        if self.looked_at > MAX_LOOKED_AT {
            let limit = format!("{MAX_LOOKED_AT} files and directories to look at");
            return Err(ArtifactError::TooLarge {
                limit,
                setting: "path",
            });
        }
        let goes_on = kind.is_dir() && self.search.goes_on(&own);
        let is_kept = match kind {
            FileType::Directory | FileType::Symlink => self.search.keeps_dir(&own),
            _ => self.search.keeps_file(parent, &own),
        };
        if !goes_on && !is_kept {
            return Ok(());
        }
        if let Some(reason) = self.reason_to_leave(&path, kind) {
            if is_kept {
                self.left_out.add(reason, &path);
            }
            return Ok(());
        }
        check_path(&path)?;
        if is_kept {
            let kind = match kind {
                FileType::Directory => EntryKind::Dir,
                FileType::Symlink => EntryKind::Link,
                _ => EntryKind::File,
            };
            let path = path.clone();
            (self.found)(FoundEntry { dir, path, kind })?;
        }
        if goes_on {
            pending.push(Pending {
                path,
                matching: own,
            });
        }
        Ok(())
    }

    fn reason_to_leave(&self, path: &Path, kind: FileType) -> Option<Reason> {
        let name = path.file_name().unwrap_or_default().as_bytes();
        match kind {
            _ if self.leave.git && name == b".git" => Some(Reason::Git),
            _ if self.leave.hidden && name.starts_with(b".") => Some(Reason::Hidden),
            FileType::RegularFile | FileType::Directory => None,
            FileType::Symlink => self.leave.links.then_some(Reason::Link),
            _ => Some(Reason::Special),
        }
    }
}

fn check_path(path: &Path) -> Result<(), ArtifactError> {
    let why = match path.as_os_str().len() {
        bytes if bytes > MAX_PATH_BYTES => "its path has more than 3000 bytes",
        _ if path.components().count() > MAX_DEPTH => "it is in more than 250 directories",
        _ => return Ok(()),
    };
    let path = shown(&path.to_string_lossy());
    Err(ArtifactError::FilePath { path, why })
}

pub(crate) fn failed(path: &Path) -> impl FnOnce(io::Error) -> ArtifactError {
    ArtifactError::io(format!("read {}", shown(&path.to_string_lossy())))
}
