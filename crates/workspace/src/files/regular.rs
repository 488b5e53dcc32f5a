//! Opening regular files of a workspace: links within it are followed, pipes and devices never opened.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;

use super::beneath::{self, shown};
use crate::included::IncludedFiles;
use crate::{Error, Workspace};
use branchyard_model::{ErrorKind, Problem};

/// Of larger files lines are neither searched nor counted.
pub(super) const MAX_LINED: u64 = 64 * 1024 * 1024;

/// Opens a regular file as git sees it: a link is not followed, for git keeps it as one. Blocks.
pub(crate) fn open_unfollowed(workspace: &Workspace, path: &Path) -> Result<File, Error> {
    let fd = beneath::open_unfollowed(&beneath::open_root(workspace)?, path)?;
    open_lined(&fd, path, &IncludedFiles::of(workspace)?)
}

/// Opens what `fd` only names, if it is a regular file whose lines are bearably many.
pub(super) fn open_lined(
    fd: &OwnedFd,
    path: &Path,
    included: &IncludedFiles,
) -> Result<File, Error> {
    let (file, size) = open_regular(fd, path, included)?;
    if size > MAX_LINED {
        return Err(too_long(path, size).into());
    }
    Ok(file)
}

/// Opens what `fd` only names, if it is a regular file and not one that is for builds alone; also says how many bytes it has.
pub(super) fn open_regular(
    fd: &OwnedFd,
    path: &Path,
    included: &IncludedFiles,
) -> Result<(File, u64), Error> {
    let io = |errno: Errno| Error::io("read a file")(errno.into());
    let stat = rustix::fs::fstat(fd).map_err(io)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {}
        FileType::Directory => {
            let detail = format!("{} is a directory", shown(path));
            let problem = Problem::new(ErrorKind::BadRequest, "is_directory", detail);
            return Err(problem.field("path").help("use ls").into());
        }
        _ => {
            let detail = format!("{} is not a regular file", shown(path));
            return Err(Problem::bad("path", detail).into());
        }
    }
    // The descriptor only names the file; opening it for reading goes through the same inode.
    let reopened = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let file =
        rustix::fs::open(reopened, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(io)?;
    let file = File::from(file);
    included.check_shown(path, &file)?;
    Ok((file, u64::try_from(stat.st_size).unwrap_or(0)))
}

pub(super) fn too_long(path: &Path, size: u64) -> Problem {
    let path = shown(path);
    let detail =
        format!("{path} has {size} bytes, and lines are read of files of up to {MAX_LINED} alone");
    Problem::bad("path", detail).help("read it by start_byte and end_byte, or whole as raw")
}
