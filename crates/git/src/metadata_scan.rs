//! A look at a whole working tree, by metadata alone: each tracked file is held against what the index remembers
//! of it, and each directory against what the index has in it. Directories are shared by some threads; each is
//! opened once, without following a link, and whatever is in it is asked for from there, which spares the kernel
//! the way to every file.

use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, openat2, statat};
use rustix::io::Errno;

use super::index_file::IndexFile;
use super::untracked_entry::{GITLINK, UntrackedEntry, UntrackedKind};
use branchyard_runtime::disk::parallel;

/// So many directories are looked at by one thread in less time than another takes to start.
const AT_ONCE: usize = 64;
/// Room for what the kernel tells of a directory at a time.
const LISTING: usize = 16 << 10;

/// The paths of an index, sorted by their bytes, and, where it is plain, what it notes of them.
pub(super) struct Tracked<'a> {
    paths: Vec<(&'a [u8], u32)>,
    noted: Option<&'a IndexFile>,
}

/// What to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum For {
    /// Tracked files that may have changed.
    Suspects,
    /// What is not tracked.
    Untracked,
    Both,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct MetadataScan {
    /// Tracked paths that may not be what the index says; all others are, beyond doubt.
    pub(super) suspects: Vec<PathBuf>,
    pub(super) untracked: Vec<UntrackedEntry>,
}

impl<'a> Tracked<'a> {
    pub(super) fn plain(index: &'a IndexFile) -> Self {
        let entries = index.entries().iter();
        Self {
            paths: entries
                .map(|entry| (index.path(entry), entry.mode()))
                .collect(),
            noted: Some(index),
        }
    }

    /// Of any index; each file is a suspect.
    pub(super) fn unknown(mut paths: Vec<(&'a [u8], u32)>) -> Self {
        paths.sort_unstable();
        // An unmerged path has an entry for each of its stages.
        paths.dedup_by(|a, b| a.0 == b.0);
        Self { paths, noted: None }
    }

    /// Looks at all of `workdir`. Blocks.
    pub(super) fn scan(&self, workdir: &Path, wanted: For) -> io::Result<MetadataScan> {
        let root = rustix::fs::open(workdir, DIRECTORY, Mode::empty())?;
        let directories = Directories::of(&self.paths);
        let look = WorktreeScan {
            tracked: self,
            workdir,
            root: root.as_fd(),
            directories: &directories,
            wanted,
        };
        let shares = parallel::share(
            directories.all.len(),
            AT_ONCE,
            MetadataScan::default,
            |found, n| look.at(&directories.all[n], found),
        )?;
        let mut all = MetadataScan::default();
        for share in shares {
            all.suspects.extend(share.suspects);
            all.untracked.extend(share.untracked);
        }
        all.suspects.sort_unstable();
        all.untracked.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }
}

/// All directories with something tracked in them, and what that is.
#[derive(Default)]
struct Directories {
    all: Vec<ScannedDirectory>,
    children: Vec<Child>,
}

struct ScannedDirectory {
    /// All that is tracked in it, however deep.
    tracked: Range<usize>,
    /// How many bytes of their paths are its own, with the slash at its end.
    own: usize,
    /// What is directly in it, by name.
    children: Range<usize>,
}

#[derive(Clone, Copy)]
struct Child {
    /// The first of the paths that it stands for.
    first: usize,
    is_directory: bool,
}

impl Directories {
    fn of(paths: &[(&[u8], u32)]) -> Self {
        let mut found = Self::default();
        found.all.push(ScannedDirectory {
            tracked: 0..paths.len(),
            own: 0,
            children: 0..0,
        });
        let mut n = 0;
        while n < found.all.len() {
            found.list(n, paths);
            n += 1;
        }
        found
    }

    /// Finds what is directly in the directory `n`. What is below a subdirectory stands together, so it is
    /// leapt over.
    fn list(&mut self, n: usize, paths: &[(&[u8], u32)]) {
        let (Range { start, end }, own) = (self.all[n].tracked.clone(), self.all[n].own);
        let (begin, mut at) = (self.children.len(), start);
        while at < end {
            let path = paths[at].0;
            let slash = memchr::memchr(b'/', &path[own..]);
            self.children.push(Child {
                first: at,
                is_directory: slash.is_some(),
            });
            at = match slash {
                None => at + 1,
                Some(slash) => {
                    let inside = own + slash + 1;
                    let next = end_of(&paths[at..end], &path[..inside]) + at;
                    self.all.push(ScannedDirectory {
                        tracked: at..next,
                        own: inside,
                        children: 0..0,
                    });
                    next
                }
            };
        }
        // "a.b" comes before what is in "a".
        self.children[begin..].sort_unstable_by_key(|child| name(paths[child.first].0, own));
        self.all[n].children = begin..self.children.len();
    }
}

/// How many of these begin with `prefix`, which the first does.
fn end_of(paths: &[(&[u8], u32)], prefix: &[u8]) -> usize {
    let mut reach = 1;
    while reach < paths.len() && paths[reach].0.starts_with(prefix) {
        reach *= 2;
    }
    let sure = reach / 2;
    let reach = reach.min(paths.len());
    sure + paths[sure..reach].partition_point(|(path, _)| path.starts_with(prefix))
}

/// The name of what is in a directory: the part of a path up to the next slash.
fn name(path: &[u8], own: usize) -> &[u8] {
    let rest = &path[own..];
    &rest[..memchr::memchr(b'/', rest).unwrap_or(rest.len())]
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

struct WorktreeScan<'a> {
    tracked: &'a Tracked<'a>,
    workdir: &'a Path,
    root: BorrowedFd<'a>,
    directories: &'a Directories,
    wanted: For,
}

impl WorktreeScan<'_> {
    fn at(&self, directory: &ScannedDirectory, found: &mut MetadataScan) -> io::Result<()> {
        let path = self.path(directory.tracked.start, directory.own);
        let opened = self.open(path).map_err(|errno| at(path, errno))?;
        if self.wanted != For::Untracked {
            self.suspects(directory, opened.as_ref(), found);
        }
        match opened {
            Some(opened) if self.wanted != For::Suspects => {
                let untracked = self.untracked(directory, &opened, found);
                untracked.map_err(|error| at(path, error))
            }
            _ => Ok(()),
        }
    }

    /// `None` where it is no directory any more; the one above tells what is there in its place.
    fn open(&self, path: &[u8]) -> Result<Option<OwnedFd>, Errno> {
        let path = if path.is_empty() { b"." } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match openat2(self.root, path, DIRECTORY, Mode::empty(), resolve) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if path != b"." => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// The path of a directory, without a slash at its end.
    fn path(&self, first: usize, own: usize) -> &[u8] {
        match own {
            0 => b"",
            own => &self.tracked.paths[first].0[..own - 1],
        }
    }

    fn suspects(
        &self,
        directory: &ScannedDirectory,
        opened: Option<&OwnedFd>,
        found: &mut MetadataScan,
    ) {
        let files = self.directories.children[directory.children.clone()].iter();
        for child in files.filter(|child| !child.is_directory) {
            let path = self.tracked.paths[child.first].0;
            let is_as_noted = opened
                .zip(self.tracked.noted)
                .and_then(|(opened, index)| {
                    let name = &path[directory.own..];
                    let stat = statat(opened, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
                    Some(index.is_as_noted(&index.entries()[child.first], &stat))
                })
                .unwrap_or(false);
            if !is_as_noted {
                found.suspects.push(PathBuf::from(OsStr::from_bytes(path)));
            }
        }
    }

    fn untracked(
        &self,
        directory: &ScannedDirectory,
        opened: &OwnedFd,
        found: &mut MetadataScan,
    ) -> io::Result<()> {
        let mut room = [MaybeUninit::uninit(); LISTING];
        let mut listing = RawDir::new(opened, &mut room);
        while let Some(entry) = listing.next() {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") || (directory.own == 0 && name == b".git") {
                continue;
            }
            // Most of what is there is tracked, and the directory itself says what kind it is of.
            let kind = match entry.file_type() {
                FileType::Unknown => match statat(opened, name, AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                    Err(_) => continue,
                },
                kind => kind,
            };
            let is_directory = kind == FileType::Directory;
            let (mut is_tracked, mut mode) = (false, None);
            for child in self.named(directory, name) {
                is_tracked |= child.is_directory == is_directory;
                if !child.is_directory {
                    mode = Some(self.tracked.paths[child.first].1);
                }
            }
            if !is_tracked {
                let above = self.path(directory.tracked.start, directory.own);
                let path = Path::new(OsStr::from_bytes(above)).join(OsStr::from_bytes(name));
                found.untracked.extend(self.item(path, mode)?);
            }
        }
        Ok(())
    }

    fn named<'s>(
        &'s self,
        directory: &'s ScannedDirectory,
        wanted: &'s [u8],
    ) -> impl Iterator<Item = &'s Child> {
        let children = &self.directories.children[directory.children.clone()];
        let name = |child: &Child| name(self.tracked.paths[child.first].0, directory.own);
        let first = children.partition_point(|child| name(child) < wanted);
        children[first..]
            .iter()
            .take_while(move |child| name(child) == wanted)
    }

    /// `mode` is that of what is tracked in its place.
    fn item(&self, path: PathBuf, mode: Option<u32>) -> io::Result<Option<UntrackedEntry>> {
        let Some(item) = UntrackedEntry::at(self.workdir, path)? else {
            return Ok(None);
        };
        // A submodule that was never checked out is an empty directory.
        let is_untouched = mode == Some(GITLINK)
            && item.kind == UntrackedKind::Directory
            && std::fs::read_dir(self.workdir.join(&item.path))?
                .next()
                .is_none();
        Ok((!is_untouched).then_some(item))
    }
}

/// With the place, for whoever has to mend it.
fn at(dir: &[u8], error: impl Into<io::Error>) -> io::Error {
    let (error, dir) = (error.into(), Path::new(OsStr::from_bytes(dir)));
    io::Error::new(error.kind(), format!("{}: {error}", dir.display()))
}
