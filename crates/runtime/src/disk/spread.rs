//! Keeping trees apart on ext4. It puts what is made in a directory near that directory, and does not use an inode again
//! for some minutes after it was freed, but looks at it each time: where workspaces come and go, a new one of
//! many files took ten times as long as the first. Of a directory that is said to be the top of a hierarchy
//! it puts each subdirectory somewhere else, where there is room.

use std::io;
use std::path::Path;

use rustix::fs::{IFlags, Mode, OFlags, ioctl_getflags, ioctl_setflags, open};

/// Has each directory in `dir` be a tree of its own to the file system. Others than ext4 have no such notion, and
/// nothing is wrong without it.
pub fn spread(dir: &Path) {
    if let Err(error) = mark(dir) {
        tracing::debug!(dir = %dir.display(), %error, "trees are not kept apart on the disk");
    }
}

fn mark(dir: &Path) -> io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let dir = open(dir, flags, Mode::empty())?;
    let flags = ioctl_getflags(&dir)?;
    match flags.contains(IFlags::TOPDIR) {
        true => Ok(()),
        false => Ok(ioctl_setflags(&dir, flags | IFlags::TOPDIR)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXT4: rustix::fs::FsWord = 0xEF53;

    #[test]
    fn a_directory_is_marked_where_the_file_system_knows_the_mark() {
        let dir = tempfile::tempdir().unwrap();
        let marked = mark(dir.path()).and_then(|()| {
            let opened = std::fs::File::open(dir.path())?;
            Ok(ioctl_getflags(&opened)?.contains(IFlags::TOPDIR))
        });
        // Where temporary files are kept in memory, or elsewhere, there may be no such mark.
        match rustix::fs::statfs(dir.path()).unwrap().f_type == EXT4 {
            true => assert!(marked.unwrap()),
            false => assert!(marked.unwrap_or(true)),
        }
        // What cannot be marked is left as it is.
        spread(&dir.path().join("missing"));
    }
}
