//! Where things of one worktree are renamed to that are to go, until all of them go to the trash in one step.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, Stat};
use rustix::io::Errno;

use branchyard_runtime::disk::{Moment, Trash};

/// Its name in the registration.
pub(super) const FILE: &str = "discarded";

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

#[derive(Debug)]
pub(super) struct Bin {
    path: PathBuf,
    dir: OwnedFd,
    taken: usize,
    /// What was written since is not deleted.
    looked_at: Option<Moment>,
    /// What a new directory's mode is here.
    usual_mode: u32,
}

impl Bin {
    /// An empty one in a registration. What a daemon that was killed left in its place goes at once.
    pub(super) fn new(admin: &Path, trash: &Trash, looked_at: Option<Moment>) -> io::Result<Self> {
        let path = admin.join(FILE);
        if fs::symlink_metadata(&path).is_ok() {
            match looked_at {
                Some(_) => trash.take_seen(&path, &FILE, Moment::EPOCH)?,
                None => trash.take(&path, &FILE)?,
            }
        }
        rustix::fs::mkdirat(CWD, &path, Mode::from_raw_mode(0o777))?;
        let dir = rustix::fs::openat(CWD, &path, DIRECTORY, Mode::empty())?;
        let usual_mode = permissions(&rustix::fs::fstat(&dir)?);
        Ok(Self {
            path,
            dir,
            taken: 0,
            looked_at,
            usual_mode,
        })
    }

    pub(super) fn open(&self, dir: &Path) -> io::Result<OwnedFd> {
        Ok(rustix::fs::openat(CWD, dir, DIRECTORY, Mode::empty())?)
    }

    /// Opens a directory in another to look through it and to change it; `None` where that is not possible.
    pub(super) fn open_in(&self, dir: &OwnedFd, name: &[u8]) -> io::Result<Option<OwnedFd>> {
        let opened = match rustix::fs::openat(dir, name, DIRECTORY, Mode::empty()) {
            Ok(opened) => opened,
            Err(Errno::ACCESS | Errno::NOTDIR | Errno::LOOP | Errno::PERM) => return Ok(None),
            Err(errno) => return Err(errno.into()),
        };
        Ok(self.normalise(&opened)?.then_some(opened))
    }

    /// Gives a directory the mode of a new one. Returns whether it has that.
    pub(super) fn normalise(&self, dir: &OwnedFd) -> io::Result<bool> {
        if permissions(&rustix::fs::fstat(dir)?) == self.usual_mode {
            return Ok(true);
        }
        let usual = Mode::from_raw_mode(self.usual_mode);
        match rustix::fs::fchmod(dir, usual) {
            Ok(()) => Ok(true),
            Err(Errno::PERM) => Ok(false),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Takes what has this name in a directory.
    pub(super) fn take(&mut self, dir: &OwnedFd, name: &[u8]) -> io::Result<()> {
        let to = self.taken.to_string();
        match rustix::fs::renameat(dir, name, &self.dir, &to) {
            // A directory that is closed to writing cannot be told that it has another parent.
            Err(Errno::ACCESS) => {
                open_up(dir, name)?;
                rustix::fs::renameat(dir, name, &self.dir, &to)?;
            }
            moved => moved?,
        }
        self.taken += 1;
        Ok(())
    }

    /// Has all of it deleted later.
    pub(super) fn empty(self, trash: &Trash) -> io::Result<()> {
        match (self.taken, self.looked_at) {
            (0, _) => fs::remove_dir(&self.path),
            (_, Some(looked_at)) => trash.take_seen(&self.path, &FILE, looked_at),
            (_, None) => trash.take(&self.path, &FILE),
        }
    }
}

/// Lets the owner do everything in a directory. By its descriptor: a link in its place is not followed.
fn open_up(dir: &OwnedFd, name: &[u8]) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let closed = rustix::fs::openat(dir, name, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", closed.as_raw_fd());
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

/// All that can be set of a mode, but for the bit that directories inherit.
fn permissions(stat: &Stat) -> u32 {
    stat.st_mode & 0o5777
}
