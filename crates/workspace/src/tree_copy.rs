//! Directories and files with all that is in them, copied to the same places below another directory, by several threads
//! and with their times. No link is followed, at either end; pipes, sockets and devices are left out.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, Stat, fchmod, futimens, mkdirat, statat};
use rustix::io::Errno;

use crate::file_copy::{
    Hand, Transfer, copy_link, create, enter, modified, modified_at, open_dir, open_source,
};
use branchyard_runtime::disk::{Amount, parallel};

/// How many files a thread takes at a time: neighbours are mostly in one directory.
const AT_ONCE: usize = 64;
const PERMISSIONS: u32 = 0o777;
/// While something comes into it, a directory is open to its owner.
const OPEN: u32 = 0o700;

/// What there is to copy.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    /// Parents first.
    dirs: Vec<TreeEntry>,
    files: Vec<TreeEntry>,
    bytes: u64,
}

#[derive(Debug)]
struct TreeEntry {
    path: PathBuf,
    size: u64,
    mode: u32,
    modified: (i64, i64),
    is_link: bool,
}

impl Tree {
    /// What is at each of `paths` below `root`; those at which nothing is are left out. An error if it is more than `most`.
    pub(crate) fn gather<'p>(
        root: &OwnedFd,
        paths: impl Iterator<Item = &'p Path>,
        most: Amount,
    ) -> io::Result<Self> {
        let mut tree = Self::default();
        for path in paths {
            let parent = match open_dir(root, path.parent().unwrap_or(Path::new(""))) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                parent => parent?,
            };
            let name = path.file_name().unwrap_or_default();
            match statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => {}
                stat => tree.add(path.to_owned(), &stat?, most)?,
            }
        }
        // A directory that is found is looked into when its turn comes.
        let mut next = 0;
        while let Some(dir) = tree.dirs.get(next) {
            let path = dir.path.clone();
            let dir = open_dir(root, &path)?;
            for entry in Dir::read_from(&dir)? {
                let entry = entry?;
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name != "." && name != ".." {
                    let stat = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    tree.add(path.join(name), &stat, most)?;
                }
            }
            next += 1;
        }
        Ok(tree)
    }

    fn add(&mut self, path: PathBuf, stat: &Stat, most: Amount) -> io::Result<()> {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let found = TreeEntry {
            path,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & PERMISSIONS,
            modified: modified_at(stat),
            is_link: kind.is_symlink(),
        };
        if kind.is_dir() {
            self.dirs.push(found);
        } else if kind.is_file() || kind.is_symlink() {
            self.bytes += found.size;
            self.files.push(found);
        }
        let Amount { bytes, inodes } = self.amount();
        if bytes > most.bytes || inodes > most.inodes {
            let Amount { bytes, inodes } = most;
            let what = format!("they are more than {inodes} files or {bytes} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
        }
        Ok(())
    }

    /// What a copy takes.
    pub(crate) fn amount(&self) -> Amount {
        Amount {
            bytes: self.bytes,
            inodes: (self.files.len() + self.dirs.len()) as u64,
        }
    }

    /// Copies it from below one directory to below another, where nothing of it is yet.
    pub(crate) fn copy(&self, from: &OwnedFd, to: &OwnedFd) -> io::Result<()> {
        let all = self.dirs.iter().chain(&self.files);
        for parent in all.filter_map(|found| found.path.parent()) {
            make_dirs(to, parent)?;
        }
        for dir in &self.dirs {
            make_dirs(to, &dir.path)?;
        }
        let transfer = Transfer::new();
        parallel::share(self.files.len(), AT_ONCE, Hand::new, |hand, n| {
            copy_file((from, to), &transfer, hand, &self.files[n])
        })?;
        // Inner ones first, for each changes the one that it is in.
        for dir in self.dirs.iter().rev() {
            let copy = open_dir(to, &dir.path)?;
            fchmod(&copy, Mode::from_raw_mode(dir.mode | OPEN))?;
            futimens(&copy, &modified(dir.modified.0, dir.modified.1))?;
        }
        Ok(())
    }
}

fn copy_file(
    ends: (&OwnedFd, &OwnedFd),
    transfer: &Transfer,
    hand: &mut Hand,
    file: &TreeEntry,
) -> io::Result<()> {
    let place = enter(&mut hand.place, ends, &file.path)?;
    let name = file.path.file_name().unwrap_or_default();
    let times = modified(file.modified.0, file.modified.1);
    if file.is_link {
        return copy_link(place, name, &times);
    }
    let source = open_source(&place.from, name)?;
    let copy = create(&place.to, name, file.mode)?;
    transfer.copy(&mut hand.buffer, (&source, &copy), file.size, false)?;
    // What it was created with is less what the daemon's mask takes away.
    fchmod(&copy, Mode::from_raw_mode(file.mode))?;
    Ok(futimens(&copy, &times)?)
}

/// Makes a directory below `root`, and those above it, as far as they are not there.
fn make_dirs(root: &OwnedFd, dir: &Path) -> io::Result<()> {
    match open_dir(root, dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened.map(drop),
    }
    let parent = dir.parent().unwrap_or(Path::new(""));
    make_dirs(root, parent)?;
    let (parent, name) = (open_dir(root, parent)?, dir.file_name().unwrap_or_default());
    match mkdirat(&parent, name, Mode::from_raw_mode(PERMISSIONS)) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    const MOST: Amount = Amount {
        bytes: 1 << 30,
        inodes: 1_000,
    };

    fn open(path: &Path) -> OwnedFd {
        File::open(path).unwrap().into()
    }

    #[test]
    fn a_copy_has_all_that_the_original_has_and_follows_nothing() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let at = from.path();
        fs::create_dir_all(at.join("web/node_modules/.bin")).unwrap();
        fs::create_dir_all(at.join("web/node_modules/empty")).unwrap();
        fs::write(at.join("web/node_modules/a.js"), "a").unwrap();
        fs::write(at.join("web/node_modules/big"), vec![7; 3 << 20]).unwrap();
        let tool = at.join("web/node_modules/tool");
        fs::write(&tool, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&tool, PermissionsExt::from_mode(0o755)).unwrap();
        symlink("../tool", at.join("web/node_modules/.bin/tool")).unwrap();
        symlink("/etc", at.join("web/node_modules/out")).unwrap();
        fs::write(at.join("other"), "stays").unwrap();
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        File::open(&tool).unwrap().set_modified(old).unwrap();

        let paths = [Path::new("web/node_modules"), Path::new("absent/x")];
        let tree = Tree::gather(&open(at), paths.into_iter(), MOST).unwrap();
        tree.copy(&open(at), &open(to.path())).unwrap();
        let copy = to.path().join("web/node_modules");
        assert_eq!(fs::read(copy.join("a.js")).unwrap(), b"a");
        assert_eq!(fs::read(copy.join("big")).unwrap(), vec![7; 3 << 20]);
        assert!(copy.join("empty").is_dir());
        let meta = copy.join("tool").metadata().unwrap();
        assert_eq!((meta.mode() & 0o777, meta.mtime()), (0o755, 1_000_000));
        let link = fs::read_link(copy.join(".bin/tool")).unwrap();
        assert_eq!(link, Path::new("../tool"));
        assert_eq!(fs::read_link(copy.join("out")).unwrap(), Path::new("/etc"));
        assert!(!to.path().join("other").exists());
        let Amount { bytes, inodes } = tree.amount();
        assert_eq!(inodes, 8);
        assert!(bytes >= 3 << 20);
        let few = Amount { inodes: 7, ..MOST };
        assert!(Tree::gather(&open(at), paths.into_iter(), few).is_err());
    }

    #[test]
    fn a_link_in_the_way_is_not_followed() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir(from.path().join("out")).unwrap();
        fs::write(from.path().join("out/x"), "x").unwrap();
        symlink(outside.path(), to.path().join("out")).unwrap();
        let paths = |path| [Path::new(path)].into_iter();
        let tree = Tree::gather(&open(from.path()), paths("out"), MOST).unwrap();
        assert!(tree.copy(&open(from.path()), &open(to.path())).is_err());
        assert!(outside.path().read_dir().unwrap().next().is_none());
        assert!(Tree::gather(&open(to.path()), paths("out/x"), MOST).is_err());
    }
}
