//! Where file systems are mounted, as `/proc/self/mountinfo` tells it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, StatxFlags, statx};

const FILE: &str = "/proc/self/mountinfo";

/// One line of it.
#[derive(Debug)]
pub struct Mount {
    /// The directory of the file system that is to be seen there.
    pub root: PathBuf,
    pub at: PathBuf,
    pub kind: String,
    pub options: String,
}

impl Mount {
    pub fn parse(line: &str) -> Option<Self> {
        let (place, system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let mut system = system.split(' ');
        Some(Self {
            root: unescape(place.next()?).into(),
            at: unescape(place.next()?).into(),
            kind: system.next()?.to_owned(),
            options: system.nth(1)?.to_owned(),
        })
    }
}

/// A place in `dir` where a file system is mounted, or `dir` itself: what is there is not the directory's, and would be
/// deleted with it.
pub(super) fn mounted_in(dir: &Path) -> io::Result<Option<PathBuf>> {
    // What a link leads to does not go with it.
    if !fs::symlink_metadata(dir)?.is_dir() {
        return Ok(None);
    }
    // The kernel names mounts without links on the way.
    let dir = dir.canonicalize()?;
    let text = fs::read_to_string(FILE)?;
    let mounts = text.lines().filter_map(Mount::parse);
    let mut places = mounts.map(|mount| mount.at);
    Ok(places.find(|place| place.starts_with(&dir)))
}

/// Which mount a path is on. A file can be moved only within one, be it the same file system.
pub(super) fn mount_of(path: &Path) -> io::Result<u64> {
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    Ok(statx(CWD, path, flags, StatxFlags::MNT_ID)?.stx_mnt_id)
}

/// Blanks in a path stand there as `\040`.
fn unescape(path: &str) -> String {
    path.replace("\\040", " ")
        .replace("\\011", "\t")
        .replace("\\012", "\n")
        .replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_known_by_the_directories_above_it() {
        let proc = Some("/proc".into());
        assert_eq!(mounted_in(Path::new("/proc")).unwrap(), proc);
        assert!(mounted_in(Path::new("/")).unwrap().is_some());
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(mounted_in(empty.path()).unwrap(), None);
        let link = empty.path().join("link");
        std::os::unix::fs::symlink("/", &link).unwrap();
        assert_eq!(mounted_in(&link).unwrap(), None);
        assert!(mounted_in(&empty.path().join("none")).is_err());
    }
}
