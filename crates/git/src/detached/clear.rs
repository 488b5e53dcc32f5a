//! Takes away what is not to stay in a detached worktree, in one walk beside the entries of the commit and of the index that
//! was there before. No link is followed, and no file is opened.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, Dir, FileType, Stat};

use super::UntrackedFiles;
use super::bin::Bin;
use super::conversions::Reconverted;
use super::filled::FilledSubmodules;
use crate::GITLINK;
use crate::checkout::{CheckoutEntry, CheckoutKind};
use crate::index_file::{IndexFile, IndexedFile};

/// Names that git looks for in every directory. What stands there untracked would have a say in what it writes.
const HEEDED: [&[u8]; 4] = [b".git", b".gitattributes", b".gitignore", b".gitmodules"];

pub(crate) fn is_heeded(name: &OsStr) -> bool {
    HEEDED.contains(&name.as_bytes())
}

pub(super) struct Clearing<'a> {
    /// In the order of the index.
    entries: &'a [CheckoutEntry],
    /// What vouches for the files that are there.
    before: Option<&'a IndexFile>,
    reconverted: &'a Reconverted,
    untracked: UntrackedFiles,
    filled: &'a FilledSubmodules,
    bin: &'a mut Bin,
    /// Of each entry, what the file system says of it where it stays.
    kept: Vec<Option<Stat>>,
}

/// What belongs at a name in a directory.
enum Child {
    /// The number of its entry.
    Entry(usize),
    Directory(Range<usize>),
}

/// The part of the entries that is in one directory.
struct Level<'a> {
    /// How long the path of the directory is, with the slash at its end.
    prefix: usize,
    wanted: HashMap<&'a [u8], Child>,
    before: HashMap<&'a [u8], Child>,
}

impl<'a> Clearing<'a> {
    pub(super) fn new(
        entries: &'a [CheckoutEntry],
        (before, reconverted): (Option<&'a IndexFile>, &'a Reconverted),
        (untracked, filled): (UntrackedFiles, &'a FilledSubmodules),
        bin: &'a mut Bin,
    ) -> Self {
        // Without it nothing tells which files were tracked.
        let untracked = match (before, untracked) {
            (None, UntrackedFiles::Keep) => UntrackedFiles::Discard,
            (_, untracked) => untracked,
        };
        Self {
            entries,
            before,
            reconverted,
            untracked,
            filled,
            bin,
            kept: vec![None; entries.len()],
        }
    }

    /// Clears the worktree whose root this is. Returns what stays.
    pub(super) fn clear(mut self, root: &OwnedFd) -> io::Result<Vec<Option<Stat>>> {
        if !self.bin.normalise(root)? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let before = self.before.map_or(0, |before| before.entries().len());
        let level = self.level(0, 0..self.entries.len(), 0..before);
        self.directory(root, &level)?;
        Ok(self.kept)
    }

    /// Clears a directory. Returns whether anything is left in it.
    fn directory(&mut self, dir: &OwnedFd, level: &Level<'a>) -> io::Result<bool> {
        let mut is_left = false;
        for name in names(dir)? {
            if level.prefix == 0 && name == b".git" {
                continue;
            }
            let stays = match level.wanted.get(&*name) {
                Some(Child::Entry(n)) => self.stays(dir, &name, *n, level)?,
                Some(Child::Directory(wanted)) => {
                    let before = match level.before.get(&*name) {
                        Some(Child::Directory(before)) => before.clone(),
                        _ => 0..0,
                    };
                    self.enter(dir, &name, level, (wanted.clone(), before))?;
                    // If nothing is in it, it is there for what is going to be written.
                    continue;
                }
                None => match (self.untracked, level.before.get(&*name)) {
                    (UntrackedFiles::Discard, _) => false,
                    (_, Some(Child::Entry(before))) => self.is_in_use(dir, &name, *before)?,
                    (_, Some(Child::Directory(before))) => {
                        self.leave(dir, &name, level, before.clone())?
                    }
                    (_, None) => !HEEDED.contains(&&*name),
                },
            };
            match stays {
                true => is_left = true,
                false => self.take(dir, &name, level)?,
            }
        }
        Ok(is_left)
    }

    /// Clears a directory that tracked files belong in; what else stands in its place goes.
    fn enter(
        &mut self,
        dir: &OwnedFd,
        name: &[u8],
        level: &Level<'a>,
        (wanted, before): (Range<usize>, Range<usize>),
    ) -> io::Result<()> {
        match self.bin.open_in(dir, name)? {
            Some(inner) => {
                let inside = self.level(level.prefix + name.len() + 1, wanted, before);
                self.directory(&inner, &inside).map(drop)
            }
            None => self.take(dir, name, level),
        }
    }

    /// Takes what may go: of what is to be spared, what was tracked alone.
    fn take(&mut self, dir: &OwnedFd, name: &[u8], level: &Level<'a>) -> io::Result<()> {
        let is_in_the_way = match (self.untracked, level.before.get(name)) {
            (UntrackedFiles::Discard | UntrackedFiles::Keep, _) | (_, Some(Child::Entry(_))) => {
                false
            }
            (_, Some(Child::Directory(before))) => self.leave(dir, name, level, before.clone())?,
            (_, None) => true,
        };
        if is_in_the_way {
            let name = String::from_utf8_lossy(name);
            return Err(io::Error::other(format!("{name} is in the way")));
        }
        self.bin.take(dir, name)
    }

    /// Whether what was tracked here is the directory of a submodule, and not empty.
    fn is_in_use(&self, dir: &OwnedFd, name: &[u8], before: usize) -> io::Result<bool> {
        let is_submodule = self
            .before
            .is_some_and(|index| index.entries()[before].mode() == GITLINK);
        if self.untracked != UntrackedFiles::Spare || !is_submodule {
            return Ok(false);
        }
        match self.bin.open_in(dir, name)? {
            Some(inner) => Ok(!names(&inner)?.is_empty()),
            None => Ok(false),
        }
    }

    /// Takes the files that were tracked out of a directory that has none any more. Returns whether it stays.
    fn leave(
        &mut self,
        dir: &OwnedFd,
        name: &[u8],
        level: &Level<'a>,
        before: Range<usize>,
    ) -> io::Result<bool> {
        if kind_of(&stat_at(dir, name)?) != FileType::Directory {
            return Ok(true);
        }
        match self.bin.open_in(dir, name)? {
            Some(inner) => {
                let inside = self.level(level.prefix + name.len() + 1, 0..0, before);
                self.directory(&inner, &inside)
            }
            None => Ok(false),
        }
    }

    /// Whether what stands at the place of an entry is that, beyond doubt.
    fn stays(
        &mut self,
        dir: &OwnedFd,
        name: &[u8],
        n: usize,
        level: &Level<'a>,
    ) -> io::Result<bool> {
        let (entry, found) = (&self.entries[n], stat_at(dir, name)?);
        let is_wanted = match entry.kind() {
            CheckoutKind::Submodule if self.untracked == UntrackedFiles::Spare => {
                // What is in it is not this worktree's, but for what it tracked there.
                match level.before.get(name) {
                    Some(Child::Directory(before)) => {
                        self.leave(dir, name, level, before.clone())?;
                        true
                    }
                    _ => kind_of(&found) == FileType::Directory,
                }
            }
            CheckoutKind::Submodule => self.is_fine(dir, name, entry.path())?,
            _ => match (self.before, level.before.get(name)) {
                (Some(index), Some(Child::Entry(known))) => {
                    self.vouches(index, &index.entries()[*known], entry, &found)
                }
                _ => false,
            },
        };
        if is_wanted {
            self.kept[n] = Some(match entry.kind() {
                // Its mode may just have been put right.
                CheckoutKind::Submodule => stat_at(dir, name)?,
                _ => found,
            });
        }
        Ok(is_wanted)
    }

    fn vouches(
        &self,
        index: &IndexFile,
        known: &IndexedFile,
        entry: &CheckoutEntry,
        found: &Stat,
    ) -> bool {
        known.mode() == entry.kind().mode()
            && index.id(known).is_some_and(|id| id.git2() == entry.id())
            && index.is_as_noted(known, found)
            && !self.reconverted.includes(entry.path())
    }

    /// Whether this is a directory with nothing in it, or that of the submodule at `path`.
    fn is_fine(&self, dir: &OwnedFd, name: &[u8], path: &[u8]) -> io::Result<bool> {
        match self.bin.open_in(dir, name)? {
            Some(inner) => Ok(self.filled.includes(path, &inner) || names(&inner)?.is_empty()),
            None => Ok(false),
        }
    }

    fn level(&self, prefix: usize, wanted: Range<usize>, before: Range<usize>) -> Level<'a> {
        let (entries, index) = (self.entries, self.before);
        let indexed = move |n: usize| -> &'a [u8] {
            index.map_or(&[], |index| index.path(&index.entries()[n]))
        };
        Level {
            prefix,
            wanted: children(prefix, wanted, |n| entries[n].path()),
            before: children(prefix, before, indexed),
        }
    }
}

/// What is directly in a directory whose entries these are, sorted by their paths.
fn children<'a>(
    prefix: usize,
    range: Range<usize>,
    path: impl Fn(usize) -> &'a [u8],
) -> HashMap<&'a [u8], Child> {
    let mut children = HashMap::new();
    let mut n = range.start;
    while n < range.end {
        let rest = path(n).get(prefix..).unwrap_or_default();
        match memchr::memchr(b'/', rest) {
            None => {
                children.insert(rest, Child::Entry(n));
                n += 1;
            }
            Some(end) => {
                let start = n;
                let inside = &path(start)[..prefix + end + 1];
                while n < range.end && path(n).starts_with(inside) {
                    n += 1;
                }
                children.insert(&rest[..end], Child::Directory(start..n));
            }
        }
    }
    children
}

/// All of them first: what is renamed meanwhile would make the listing miss others.
fn names(dir: &OwnedFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}

fn stat_at(dir: &OwnedFd, name: &[u8]) -> io::Result<Stat> {
    Ok(rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?)
}

fn kind_of(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.st_mode)
}
