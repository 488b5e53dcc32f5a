//! Files and directories beneath one whose content others decide about. Nothing here follows a link, leaves the directory
//! or waits for a pipe.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, mkdirat, open, openat, openat2, unlinkat};
use rustix::io::Errno;

const DIRECTORY: u32 = 0o755;
/// How often a name is made free for a file while others write there.
const ATTEMPTS: usize = 5;

/// Opens the directory itself, which the daemon chose.
pub(crate) fn open_root(dir: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(open(dir, flags, Mode::empty())?)
}

/// Names what is at `path`, of a link the link itself, without opening it for anything.
pub(crate) fn name(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    resolve(root, path, OFlags::PATH | OFlags::NOFOLLOW)
}

pub(crate) fn open_dir(root: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    resolve(root, path, OFlags::RDONLY | OFlags::DIRECTORY)
}

/// Opens what may be a file; the caller looks whether it is.
pub(crate) fn open_file(root: &OwnedFd, path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(resolve(root, path, flags)?.into())
}

fn resolve(root: &OwnedFd, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    Ok(openat2(
        root,
        path,
        flags | OFlags::CLOEXEC,
        Mode::empty(),
        resolve,
    )?)
}

/// Opens a directory, and makes it and those above it, as far as they are not there.
pub(crate) fn make_dirs(root: &OwnedFd, dir: &Path) -> io::Result<OwnedFd> {
    match open_dir(root, dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    let (Some(parent), Some(name)) = (dir.parent(), dir.file_name()) else {
        return Err(io::ErrorKind::NotFound.into());
    };
    match mkdirat(
        make_dirs(root, parent)?,
        name,
        Mode::from_raw_mode(DIRECTORY),
    ) {
        Ok(()) | Err(Errno::EXIST) => open_dir(root, dir),
        Err(errno) => Err(errno.into()),
    }
}

/// Creates a file, open to be read too, in place of the file or link that has its name.
pub(crate) fn create_file(dir: &OwnedFd, name: &OsStr, mode: u32) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    in_place(dir, name, || {
        Ok(openat(dir, name, flags, Mode::from_raw_mode(mode))?.into())
    })
}

/// Makes what is not there yet, and something of that name go first where it is.
pub(crate) fn in_place<T>(
    dir: &OwnedFd,
    name: &OsStr,
    make: impl Fn() -> Result<T, Errno>,
) -> io::Result<T> {
    for _ in 0..ATTEMPTS {
        match make() {
            Err(Errno::EXIST) => match unlinkat(dir, name, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno.into()),
            },
            made => return Ok(made?),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Whether a link, or something that is not a directory, is where a directory or a file is to be.
pub(crate) fn is_in_the_way(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    let ways = [
        Errno::LOOP,
        Errno::NOTDIR,
        Errno::ISDIR,
        Errno::XDEV,
        Errno::EXIST,
    ];
    errno.is_some_and(|errno| ways.contains(&errno)) || error.kind() == io::ErrorKind::AlreadyExists
}

/// Whether it went, or became something else, since it was listed.
pub(crate) fn has_changed(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    // A socket cannot be opened, and a pipe or a device without its other end cannot either.
    let changes = [
        Errno::NOENT,
        Errno::LOOP,
        Errno::NOTDIR,
        Errno::XDEV,
        Errno::NXIO,
        Errno::NODEV,
    ];
    errno.is_some_and(|errno| changes.contains(&errno))
}
