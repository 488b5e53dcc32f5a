//! Working files of conflicted paths, each reached from the workspace down through directories alone: a
//! link in between is not followed, wherever it leads.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::git::Error;

#[derive(Debug)]
pub struct Working(OwnedFd);

pub enum Read {
    Whole(Vec<u8>),
    TooLarge,
    /// Nothing, or nothing that has a content.
    NoFile,
}

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Nothing,
    /// A file or link, which can be replaced.
    File,
    /// A directory, a pipe or the like; or the way there leads through something that is no directory.
    Other,
}

impl Working {
    pub fn open(workdir: &Path) -> Result<Self, Error> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(workdir, flags, Mode::empty());
        Ok(Self(root.map_err(|errno| {
            Error::io("open the workspace")(errno.into())
        })?))
    }

    pub fn read(&self, path: &Path, most: u64) -> Read {
        // Opening a pipe would wait for somebody to write to it.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let Ok(file) = self.open_at(path, flags).map(File::from) else {
            return Read::NoFile;
        };
        match file.metadata() {
            Ok(meta) if meta.is_file() && meta.len() <= most => {}
            Ok(meta) if meta.is_file() => return Read::TooLarge,
            _ => return Read::NoFile,
        }
        let mut bytes = Vec::new();
        match file.take(most).read_to_end(&mut bytes) {
            Ok(_) => Read::Whole(bytes),
            Err(_) => Read::NoFile,
        }
    }

    pub fn standing(&self, path: &Path) -> Result<Standing, Error> {
        let failed = |errno: Errno| Error::io(format!("look at {}", path.display()))(errno.into());
        let (dir, name) = match self.parent(path) {
            Ok(found) => found,
            Err(Errno::NOENT) => return Ok(Standing::Nothing),
            Err(Errno::LOOP | Errno::NOTDIR | Errno::XDEV) => return Ok(Standing::Other),
            Err(errno) => return Err(failed(errno)),
        };
        match rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile | FileType::Symlink => Standing::File,
                _ => Standing::Other,
            }),
            Err(Errno::NOENT) => Ok(Standing::Nothing),
            Err(errno) => Err(failed(errno)),
        }
    }

    /// Where the link at `path` leads, if it is one.
    pub fn link(&self, path: &Path) -> Option<Vec<u8>> {
        let (dir, name) = self.parent(path).ok()?;
        let target = rustix::fs::readlinkat(&dir, name, Vec::new()).ok()?;
        Some(target.into_bytes())
    }

    /// Writes a file, in place of the file or link that is there.
    pub fn write(&self, path: &Path, content: &[u8], executable: bool) -> Result<(), Error> {
        let write = || -> io::Result<()> {
            self.make_parents(path)?;
            let (dir, name) = self.parent(path)?;
            match rustix::fs::unlinkat(&dir, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            }
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
            let mode = match executable {
                true => Mode::from_raw_mode(0o777),
                false => Mode::from_raw_mode(0o666),
            };
            let file = rustix::fs::openat(&dir, name, flags | OFlags::CLOEXEC, mode)?;
            File::from(file).write_all(content)
        };
        write().map_err(Error::io(format!("write {}", path.display())))
    }

    /// Removes the file or link that is there, if one is, and the directories that it leaves empty.
    pub fn remove(&self, path: &Path) -> Result<(), Error> {
        let remove = || -> Result<(), Errno> {
            let (dir, name) = self.parent(path)?;
            rustix::fs::unlinkat(&dir, name, AtFlags::empty())
        };
        match remove() {
            Ok(()) => {}
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ISDIR) => return Ok(()),
            Err(errno) => {
                return Err(Error::io(format!("remove {}", path.display()))(
                    errno.into(),
                ));
            }
        }
        for dir in path.ancestors().skip(1).filter(|dir| *dir != Path::new("")) {
            let Ok((above, name)) = self.parent(dir) else {
                break;
            };
            if rustix::fs::unlinkat(&above, name, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn make_parents(&self, path: &Path) -> io::Result<()> {
        let mut dirs: Vec<_> = path.ancestors().skip(1).collect();
        dirs.reverse();
        for dir in dirs.into_iter().filter(|dir| *dir != Path::new("")) {
            let (above, name) = self.parent(dir)?;
            match rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn parent<'path>(&self, path: &'path Path) -> Result<(OwnedFd, &'path std::ffi::OsStr), Errno> {
        let name = path.file_name().ok_or(Errno::INVAL)?;
        let dir = path.parent().unwrap_or(Path::new(""));
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok((self.open_at(dir, flags)?, name))
    }

    fn open_at(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = match path.as_os_str().is_empty() {
            true => Path::new("."),
            false => path,
        };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(&self.0, path, flags, Mode::empty(), resolve)
    }
}
