//! One file from one place to another. Directories are opened without following a link and without leaving the
//! file system, files in their directory.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{
    AtFlags, Mode, OFlags, ResolveFlags, Stat, Timespec, Timestamps, UTIME_OMIT, copy_file_range,
    ioctl_ficlone, openat, openat2, readlinkat, symlinkat, utimensat,
};
use rustix::io::Errno;

/// What fits into this is read and written in one go.
const BUFFER: usize = 256 << 10;

/// What a thread has at hand.
pub(crate) struct Hand {
    pub(crate) buffer: Vec<u8>,
    pub(crate) place: Option<CopyTarget>,
}

/// A directory, in the original and in the copy.
pub(crate) struct CopyTarget {
    dir: PathBuf,
    pub(crate) from: OwnedFd,
    pub(crate) to: OwnedFd,
}

impl Hand {
    pub(crate) fn new() -> Self {
        Self {
            buffer: vec![0; BUFFER],
            place: None,
        }
    }
}

/// The directory of `path` at both ends of a copy, which mostly is that of the last one.
pub(crate) fn enter<'p>(
    place: &'p mut Option<CopyTarget>,
    (from, to): (&OwnedFd, &OwnedFd),
    path: &Path,
) -> io::Result<&'p CopyTarget> {
    let dir = path.parent().unwrap_or(Path::new(""));
    let there = match place.take() {
        Some(there) if there.dir == dir => there,
        _ => CopyTarget {
            dir: dir.to_owned(),
            from: open_dir(from, dir)?,
            to: open_dir(to, dir)?,
        },
    };
    Ok(place.insert(there))
}

/// Opens a directory beneath `root`.
pub(crate) fn open_dir(root: &OwnedFd, dir: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    Ok(openat2(root, or_dot(dir), flags, Mode::empty(), resolve)?)
}

/// Opens a file to read; if it was replaced by a pipe meanwhile, without waiting for a writer.
pub(crate) fn open_source(dir: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(openat(dir, name, flags, Mode::empty())?.into())
}

pub(crate) fn create(dir: &OwnedFd, name: &OsStr, mode: u32) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(dir, name, flags, Mode::from_raw_mode(mode))?.into())
}

pub(crate) fn copy_link(place: &CopyTarget, name: &OsStr, times: &Timestamps) -> io::Result<()> {
    let target = readlinkat(&place.from, name, Vec::new())?;
    symlinkat(target, &place.to, name)?;
    Ok(utimensat(
        &place.to,
        name,
        times,
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

/// How content gets from file to file.
pub(crate) struct Transfer {
    /// Whether files can share their blocks here; not known before it was tried.
    shares_blocks: AtomicBool,
}

impl Transfer {
    pub(crate) fn new() -> Self {
        Self {
            shares_blocks: AtomicBool::new(true),
        }
    }

    /// Copies `size` bytes. With `is_read` a file that fits into the buffer is there already.
    pub(crate) fn copy(
        &self,
        buffer: &mut [u8],
        (source, copy): (&File, &File),
        size: u64,
        is_read: bool,
    ) -> io::Result<()> {
        let small = usize::try_from(size)
            .ok()
            .and_then(|len| buffer.get_mut(..len));
        if let Some(content) = small {
            if !is_read {
                source.read_exact_at(content, 0)?;
            }
            return (&*copy).write_all(content);
        }
        if self.shares_blocks.load(Ordering::Relaxed) {
            if ioctl_ficlone(copy, source).is_ok() {
                return Ok(());
            }
            self.shares_blocks.store(false, Ordering::Relaxed);
        }
        copy_in_kernel(source, copy, size)
    }
}

fn copy_in_kernel(source: &File, copy: &File, size: u64) -> io::Result<()> {
    let mut at = 0;
    while at < size {
        let len = usize::try_from(size - at).unwrap_or(usize::MAX);
        let mut there = at;
        let copied = copy_file_range(source, Some(&mut at), copy, Some(&mut there), len);
        match copied {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::XDEV | Errno::INVAL) => {
                return copy_by_hand(source, copy, at);
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn copy_by_hand(mut source: &File, mut copy: &File, at: u64) -> io::Result<()> {
    use std::io::Seek;
    source.seek(io::SeekFrom::Start(at))?;
    copy.seek(io::SeekFrom::Start(at))?;
    io::copy(&mut source, &mut copy).map(drop)
}

/// Only when it was modified; when it was read is of no interest.
pub(crate) fn modified(seconds: i64, nanos: i64) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: seconds,
            tv_nsec: nanos,
        },
    }
}

/// When something was modified, in seconds and nanoseconds.
pub(crate) fn modified_at(stat: &Stat) -> (i64, i64) {
    // Below a thousand million.
    let nanos = i64::try_from(stat.st_mtime_nsec).unwrap_or(0);
    (stat.st_mtime, nanos)
}

/// Whether a link at `path` leads out of the workspace, by what is written in it.
pub(crate) fn leads_out(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count() - 1;
    for component in target.components() {
        match component {
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            // An absolute one leads to where it led before.
            _ => {}
        }
    }
    false
}

/// The path, by a name that a directory has for itself where it is empty.
pub(crate) fn or_dot(path: &Path) -> &Path {
    match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    }
}
