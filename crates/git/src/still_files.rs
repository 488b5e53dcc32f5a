//! Copies of some files of a worktree, in a directory that no build can reach, for libgit2 to compare and to make
//! patches of. What it opens there stays what it is.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use super::Error;
use super::attributes::FILE_NAME as ATTRIBUTES;
use super::file_comparer::MAX_CONVERTED;
use super::verbs::conflicts::Working;
use crate::Repository;

/// The daemon's own directory for what lasts no longer than a request, seen from the directory of a repo.
const SCRATCH: &str = ".branchyard/tmp";
const COPYING: &str = "copy files of the workspace, to compare them";

/// A handle whose worktree is a directory with the files that were taken.
pub struct StillFiles {
    repo: Repository,
    directory: PathBuf,
    /// The same directory. A link among the copies is not followed by those that come after it.
    copies: Working,
}

impl StillFiles {
    pub fn new(repo: &Repository) -> Result<Self, Error> {
        let directory = scratch_of(repo).join(format!("still-{}", uuid::Uuid::now_v7()));
        let made = DirBuilder::new().mode(0o700).create(&directory);
        made.map_err(Error::io(COPYING))?;
        let still = Self {
            repo: Repository::open_bare(repo.path())?,
            copies: Working::open(&directory)?,
            directory,
        };
        still.repo.git2().set_workdir(&still.directory, false)?;
        Ok(still)
    }

    pub fn repo(&self) -> &Repository {
        &self.repo
    }

    /// Copies what is at `path`: a file or a link. Of a directory only the name is taken; nothing else is kept by git.
    pub fn take(&self, files: &Working, path: &Path) -> Result<(), Error> {
        self.copy(files, path).map_err(Error::io(COPYING))
    }

    /// The same of all of these, with the attributes that git has for them.
    pub fn take_all(&self, files: &Working, paths: &[PathBuf]) -> Result<(), Error> {
        let above = paths.iter().flat_map(|path| path.ancestors().skip(1));
        let directories: BTreeSet<_> = above.collect();
        for directory in directories {
            self.take(files, &directory.join(OsStr::from_bytes(ATTRIBUTES)))?;
        }
        for path in paths {
            self.take(files, path)?;
        }
        Ok(())
    }

    fn copy(&self, files: &Working, path: &Path) -> io::Result<()> {
        let Some(stat) = files.stat(path)? else {
            return Ok(());
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => match files.link(path) {
                Some(target) => self.copies.create_link(path, &target),
                None => Ok(()),
            },
            // A repository of its own is one entry to git, whatever is in it.
            FileType::Directory if path.as_os_str().as_bytes().ends_with(b"/") => {
                self.copies.make_parents(&path.join(".git/objects/x"))?;
                self.copies.make_parents(&path.join(".git/refs/x"))?;
                let mut head = self.copies.create(&path.join(".git/HEAD"), 0o600)?;
                head.write_all(b"ref: refs/heads/main\n")
            }
            FileType::Directory => self.copies.make_parents(&path.join("x")),
            FileType::RegularFile => {
                let opened = match files.open_file(path) {
                    Err(error) if error.kind() == io::ErrorKind::PermissionDenied => None,
                    opened => opened?,
                };
                let Some(file) = opened else {
                    return Ok(());
                };
                let is_executable = stat.st_mode & 0o100 != 0;
                let mut copy = self
                    .copies
                    .create(path, if is_executable { 0o700 } else { 0o600 })?;
                match file.metadata()?.len() > MAX_CONVERTED {
                    // Long enough to be taken for binary, and without a block on the disk.
                    true => copy.set_len(MAX_CONVERTED + 1),
                    false => io::copy(&mut file.take(MAX_CONVERTED), &mut copy).map(drop),
                }
            }
            _ => Ok(()),
        }
    }

    /// Writes a file of our own making.
    pub fn write(&self, path: &Path, content: &[u8]) -> Result<(), Error> {
        self.copies.write(path, content, false)
    }

    pub fn is_executable(&self, path: &Path) -> bool {
        let meta = self.directory.join(path).symlink_metadata();
        meta.is_ok_and(|meta| meta.permissions().mode() & 0o100 != 0)
    }
}

impl Drop for StillFiles {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!(directory = %self.directory.display(), %error, "copies of files are left behind");
        }
    }
}

/// Builds see the store, so that copies of another branch's files must not be there. A repository that is not in a
/// yard has no other place.
fn scratch_of(repo: &Repository) -> PathBuf {
    let store = repo.git2().commondir();
    let yard = store.parent().and_then(Path::parent);
    yard.map(|yard| yard.join(SCRATCH))
        .filter(|scratch| scratch.is_dir())
        .unwrap_or_else(|| store.to_owned())
}
