//! Files of a worktree, each reached from its top down through directories alone: a link in between is not
//! followed, wherever it leads, and what is no regular file is not opened.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, renameat_with,
};
use rustix::io::Errno;

use crate::Error;
use crate::plain_file::{WITHOUT_WAITING, read_whole, regular};
use branchyard_runtime::disk::if_there;

/// The bits of a mode that are permissions.
const PERMISSIONS: u32 = 0o777;

#[derive(Debug)]
pub struct Working(OwnedFd);

pub enum Read {
    Whole(Vec<u8>),
    TooLarge,
    /// Nothing, or nothing that has a content.
    NoFile,
}

/// What [`Working::place`] puts somewhere.
#[derive(Debug)]
pub struct NewFile<'a> {
    pub content: &'a [u8],
    /// Its permissions; as new files have them where not given.
    pub mode: Option<u32>,
    /// Whether it can be run; as `mode` says where not given.
    pub executable: Option<bool>,
    /// There is a file that it takes the place of.
    pub replaces: bool,
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
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::open(workdir, flags, Mode::empty());
        Ok(Self(root.map_err(|errno| {
            Error::io("open the workspace")(errno.into())
        })?))
    }

    pub fn read(&self, path: &Path, most: u64) -> Read {
        let Ok(Some(file)) = self.open_file(path) else {
            return Read::NoFile;
        };
        match read_whole(file, most) {
            Ok(Some(content)) => Read::Whole(content),
            Ok(None) => Read::TooLarge,
            Err(_) => Read::NoFile,
        }
    }

    /// Opens the regular file at `path`; `None` where there is something else, or nothing.
    pub fn open_file(&self, path: &Path) -> io::Result<Option<File>> {
        match self.open_at(path, WITHOUT_WAITING) {
            Ok(file) => regular(file.into()),
            Err(Errno::NXIO | Errno::NODEV) => Ok(None),
            Err(errno) if is_absence(errno) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// What is at `path` itself; `None` where there is nothing, or the way there leads through something that is no
    /// directory.
    pub fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        let stat = || {
            let (dir, name) = self.parent(path)?;
            rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)
        };
        match stat() {
            Ok(stat) => Ok(Some(stat)),
            Err(errno) if is_absence(errno) => Ok(None),
            Err(errno) => Err(errno.into()),
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

    /// Writes a file, where none is.
    pub fn write(&self, path: &Path, content: &[u8], executable: bool) -> Result<(), Error> {
        let mode = if executable { 0o777 } else { 0o666 };
        self.make_parents(path)
            .and_then(|()| self.create_new(path, mode))
            .and_then(|mut file| file.write_all(content))
            .map_err(Error::io(format!("write {}", path.display())))
    }

    /// Creates a file, in place of the file or link that is there.
    pub fn create(&self, path: &Path, mode: u32) -> io::Result<File> {
        self.make_way(path)?;
        self.create_new(path, mode)
    }

    /// Puts a file at `path` at once: where nothing is, or, if it `replaces` one, in its place, and says whether that was
    /// so. It is written at `spare` first, which is on the same file system; what it replaced is there then.
    pub fn place(&self, path: &Path, file: &NewFile<'_>, spare: &Path) -> io::Result<bool> {
        let placed = self.place_by(path, file, spare);
        if placed.is_err() {
            // The error that is told comes first.
            let _ = fs::remove_file(spare);
        }
        placed
    }

    /// Has the files at `path` and at `spare`, which is on the same file system, change places.
    pub fn exchange(&self, path: &Path, spare: &Path) -> io::Result<()> {
        let (dir, name) = self.parent(path)?;
        Ok(renameat_with(
            CWD,
            spare,
            &dir,
            name,
            RenameFlags::EXCHANGE,
        )?)
    }

    fn place_by(&self, path: &Path, file: &NewFile<'_>, spare: &Path) -> io::Result<bool> {
        if_there(fs::remove_file(spare))?;
        let mut written = File::create_new(spare)?;
        written.write_all(file.content)?;
        let mode = match file.mode {
            Some(mode) => mode,
            None => rustix::fs::fstat(&written)?.st_mode & PERMISSIONS,
        };
        let mode = match file.executable {
            None => mode,
            // For those who may read it.
            Some(true) => mode | ((mode & 0o444) >> 2),
            Some(false) => mode & !0o111,
        };
        rustix::fs::fchmod(&written, Mode::from_raw_mode(mode))?;
        let placed = || -> Result<(), Errno> {
            let (dir, name) = self.parent(path)?;
            let flags = match file.replaces {
                true => RenameFlags::EXCHANGE,
                false => RenameFlags::NOREPLACE,
            };
            renameat_with(CWD, spare, &dir, name, flags)
        };
        match placed() {
            Err(Errno::EXIST) if !file.replaces => Ok(false),
            Err(Errno::NOENT) if file.replaces => Ok(false),
            placed => Ok(placed.map(|()| true)?),
        }
    }

    /// Moves the file or link at `from`. Not if something is at `to`, unless it may be replaced, or in the place of a
    /// directory on the way; says whether it was done.
    pub fn rename(&self, from: &Path, to: &Path, may_replace: bool) -> io::Result<bool> {
        let moved = || -> Result<(), Errno> {
            self.make_dirs_above(to)?;
            let ((from_dir, from_name), (to_dir, to_name)) = (self.parent(from)?, self.parent(to)?);
            renameat_with(from_dir, from_name, to_dir, to_name, replacing(may_replace))
        };
        let is_moved = unless_in_the_way(moved())?;
        if is_moved {
            self.remove_empty_above(from);
        }
        Ok(is_moved)
    }

    fn create_new(&self, path: &Path, mode: u32) -> io::Result<File> {
        let (dir, name) = self.parent(path)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(mode);
        let file = rustix::fs::openat(&dir, name, flags | OFlags::CLOEXEC, mode)?;
        Ok(file.into())
    }

    /// Creates a symbolic link, in place of the file or link that is there.
    pub fn create_link(&self, path: &Path, target: &[u8]) -> io::Result<()> {
        let (dir, name) = self.make_way(path)?;
        Ok(rustix::fs::symlinkat(target, &dir, name)?)
    }

    /// The directory that `path` lies in, made where it is missing, with nothing at `path` itself.
    fn make_way<'path>(&self, path: &'path Path) -> io::Result<(OwnedFd, &'path std::ffi::OsStr)> {
        self.make_parents(path)?;
        let (dir, name) = self.parent(path)?;
        match rustix::fs::unlinkat(&dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok((dir, name)),
            Err(errno) => Err(errno.into()),
        }
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
        self.remove_empty_above(path);
        Ok(())
    }

    /// Removes the directories above `path` that are empty.
    pub fn remove_empty_above(&self, path: &Path) {
        for dir in path.ancestors().skip(1).filter(|dir| *dir != Path::new("")) {
            let Ok((above, name)) = self.parent(dir) else {
                break;
            };
            if rustix::fs::unlinkat(&above, name, AtFlags::REMOVEDIR).is_err() {
                break;
            }
        }
    }

    /// Moves the file that `other` has at `path` here, to the same path. Not if something is there, or in the place of a
    /// directory on the way.
    pub fn take_in(&self, other: &Self, path: &Path) -> io::Result<bool> {
        let (from, name) = other.parent(path)?;
        let take = || -> Result<(), Errno> {
            self.make_dirs_above(path)?;
            let (to, _) = self.parent(path)?;
            renameat_with(&from, name, &to, name, RenameFlags::NOREPLACE)
        };
        unless_in_the_way(take())
    }

    /// Has the files that both have at `path` change places.
    pub fn swap(&self, other: &Self, path: &Path) -> io::Result<()> {
        let ((here, name), (there, _)) = (self.parent(path)?, other.parent(path)?);
        Ok(renameat_with(
            &here,
            name,
            &there,
            name,
            RenameFlags::EXCHANGE,
        )?)
    }

    /// Makes a directory and those above it, where they are missing. Not if something else is in the place of one.
    pub fn make_dir(&self, path: &Path) -> io::Result<bool> {
        // What would be in it does not matter.
        unless_in_the_way(self.make_dirs_above(&path.join("file")))
    }

    pub fn make_parents(&self, path: &Path) -> io::Result<()> {
        Ok(self.make_dirs_above(path)?)
    }

    fn make_dirs_above(&self, path: &Path) -> Result<(), Errno> {
        let mut dirs: Vec<_> = path.ancestors().skip(1).collect();
        dirs.reverse();
        for dir in dirs.into_iter().filter(|dir| *dir != Path::new("")) {
            let (above, name) = self.parent(dir)?;
            match rustix::fs::mkdirat(&above, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
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

fn replacing(may_replace: bool) -> RenameFlags {
    match may_replace {
        true => RenameFlags::empty(),
        false => RenameFlags::NOREPLACE,
    }
}

/// Whether it was done; not where something stands in the way, or the path leads out of the worktree.
fn unless_in_the_way(done: Result<(), Errno>) -> io::Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(Errno::EXIST | Errno::NOTDIR | Errno::LOOP | Errno::XDEV) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

/// Nothing is there, or something that is no directory is in between.
fn is_absence(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV
    )
}
