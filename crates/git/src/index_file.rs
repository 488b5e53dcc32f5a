//! Git's index as a file: which paths are tracked, and what is known of their files without looking into
//! them. Read and written here because what is copied or checked out has an inode and a change time of its own, which
//! have to be in the index; git would have to look at every file to find out.

mod new;

use std::fs;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY as SHA1, digest};
use git2::Oid;
use rustix::fs::{FileType, Stat};

use super::plain_file::open_plain;
use crate::repository::{EXECUTABLE, REGULAR};
use crate::{Error, ObjectId, Repository};
pub(crate) use new::{CachedTree, NewIndex, settle};

/// What every entry has before its path.
const FIXED: usize = 62;
const STATS: usize = 40;
const HASH: usize = 20;
const HEADER: usize = 12;
/// An index of ten million files has less.
const MAX_SIZE: u64 = 2 << 30;
/// Set in an entry that has two more bytes of flags.
const EXTENDED: u16 = 0x4000;
/// Set in an entry whose file git takes for unchanged without a look at it.
const ASSUME_UNCHANGED: u16 = 0x8000;
/// Not zero in entries of a path that is not merged.
const STAGE: u16 = 0x3000;
const OURS: u16 = 0x2000;

const LINK: u32 = 0o120_000;

#[derive(Debug)]
pub struct IndexFile {
    bytes: Vec<u8>,
    entries: Vec<IndexedFile>,
    /// Where the entries end.
    end: usize,
    /// The cached tree, as an extension with its head.
    tree: Option<Range<usize>>,
    /// When it was written.
    written: Moment,
}

#[derive(Debug)]
pub struct IndexedFile {
    at: usize,
    path: Range<usize>,
    flags: u16,
    mode: u32,
}

/// Seconds and nanoseconds, as the index holds them.
pub type Moment = (u32, u32);

/// What the index knows of a file besides its content, cut to the width that git gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileStat {
    changed: Moment,
    modified: Moment,
    inode: u32,
    owner: (u32, u32),
    size: u32,
}

impl IndexFile {
    /// Reads the index at `path` if all of its entries are plain: merged, and looked at by git. `None` otherwise.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let index = Self::read_any(path)?;
        Ok(index.filter(|index| index.entries.iter().all(IndexedFile::is_plain)))
    }

    /// Reads the index at `path`; `None` if it is of a kind that is not handled here: split, sparse or compressed.
    pub fn read_any(path: &Path) -> io::Result<Option<Self>> {
        let Some(file) = open_plain(path)? else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let written = FileStat::of(&rustix::fs::fstat(&file)?).modified;
        let mut bytes = Vec::new();
        file.take(MAX_SIZE).read_to_end(&mut bytes)?;
        Ok(Self::parse(bytes, written))
    }

    fn parse(bytes: Vec<u8>, written: Moment) -> Option<Self> {
        let (version, count) = (number(&bytes, 4)?, number(&bytes, 8)?);
        if !bytes.starts_with(b"DIRC") || !(2..=3).contains(&version) {
            return None;
        }
        let limit = bytes.len().checked_sub(HASH)?;
        // A damaged one may claim more than there can be.
        let most = (count as usize).min(limit / FIXED);
        let (mut at, mut entries) = (HEADER, Vec::with_capacity(most));
        for _ in 0..count {
            let entry = IndexedFile::parse(&bytes[..limit], at)?;
            // The end of a path is filled up to a multiple of eight, with one zero at least.
            at += (entry.path.end - at + 8) & !7;
            entries.push(entry);
        }
        let mut index = Self {
            bytes,
            entries,
            end: at,
            tree: None,
            written,
        };
        while at < limit {
            let size = number(&index.bytes, at + 4)? as usize;
            let next = at.checked_add(8)?.checked_add(size)?;
            let name = index.bytes.get(at..at + 4)?;
            // One that git must understand begins with a small letter.
            if next > limit || !name[0].is_ascii_uppercase() {
                return None;
            }
            if name == b"TREE" {
                index.tree = Some(at..next);
            }
            at = next;
        }
        Some(index)
    }

    pub fn entries(&self) -> &[IndexedFile] {
        &self.entries
    }

    pub fn path(&self, entry: &IndexedFile) -> &[u8] {
        &self.bytes[entry.path.clone()]
    }

    pub fn id(&self, entry: &IndexedFile) -> Option<ObjectId> {
        Oid::from_bytes(self.bytes.get(entry.at + STATS..entry.at + STATS + HASH)?)
            .ok()
            .map(ObjectId::of)
    }

    /// The entry of `path`. They are sorted by it.
    pub fn find(&self, path: &[u8]) -> Option<&IndexedFile> {
        let found = self
            .entries
            .binary_search_by(|entry| self.path(entry).cmp(path));
        found.ok().map(|at| &self.entries[at])
    }

    pub fn stat(&self, entry: &IndexedFile) -> FileStat {
        let field = |n: usize| number(&self.bytes, entry.at + 4 * n).unwrap_or(0);
        FileStat {
            changed: (field(0), field(1)),
            modified: (field(2), field(3)),
            inode: field(5),
            owner: (field(7), field(8)),
            size: field(9),
        }
    }

    /// Whether the file may have changed since its entry was made without that being seen from its times: it
    /// was written no earlier than the index.
    pub fn is_racy(&self, stat: &FileStat) -> bool {
        stat.modified >= self.written
    }

    /// The same to a git that compares whole seconds.
    pub(crate) fn is_racy_in_seconds(&self, stat: &FileStat) -> bool {
        stat.modified.0 >= self.written.0
    }

    /// Whether the file of an entry is the one that was written then, and was not written to since, beyond doubt.
    pub fn is_as_noted(&self, entry: &IndexedFile, found: &Stat) -> bool {
        let mode = match FileType::from_raw_mode(found.st_mode) {
            FileType::Symlink => LINK,
            FileType::RegularFile if found.st_mode & EXECUTABLE != 0 => REGULAR | 0o755,
            FileType::RegularFile => REGULAR | 0o644,
            _ => return false,
        };
        let found = FileStat::of(found);
        entry.mode == mode && self.stat(entry) == found && !self.is_racy(&found)
    }

    /// Whether it is exactly `tree`. Mostly it says so itself.
    pub fn holds(&self, repo: &Repository, tree: ObjectId) -> Result<bool, Error> {
        if let Some(known) = self.tree() {
            return Ok(known == tree);
        }
        let repo = repo.git2();
        let tree = repo.find_tree(tree.git2())?;
        let diff = repo.diff_tree_to_index(Some(&tree), Some(&repo.index()?), None)?;
        Ok(diff.deltas().len() == 0)
    }

    /// The tree that all entries together are, if that is known without computing it.
    pub fn tree(&self) -> Option<ObjectId> {
        let extension = &self.bytes[self.tree.clone()?][8..];
        // The root has no name: a zero, how many entries, a space, how many subtrees, a newline, the id.
        let rest = extension.strip_prefix(b"\0")?;
        let line = rest.iter().position(|byte| *byte == b'\n')?;
        if rest.starts_with(b"-") {
            return None;
        }
        Oid::from_bytes(rest.get(line + 1..line + 1 + HASH)?)
            .ok()
            .map(ObjectId::of)
    }

    /// Writes the index to `path`, a new file, in which git takes the files of these entries for unchanged, and looks at all
    /// others. Where there is a stat, it is what the entry's file is now.
    pub fn write_assuming(
        &self,
        path: &Path,
        is_assumed: impl Fn(&IndexedFile) -> bool,
        stat: impl Fn(&IndexedFile) -> Option<FileStat>,
    ) -> io::Result<()> {
        let mut bytes = self.bytes[..self.bytes.len() - HASH].to_vec();
        for entry in self.entries.iter().filter(|entry| entry.is_merged()) {
            let assumed = if is_assumed(entry) {
                ASSUME_UNCHANGED
            } else {
                0
            };
            let flags = (entry.flags & !ASSUME_UNCHANGED) | assumed;
            bytes[entry.at + FIXED - 2..entry.at + FIXED].copy_from_slice(&flags.to_be_bytes());
            if let Some(stat) = stat(entry) {
                stat.write(&mut bytes[entry.at..entry.at + STATS]);
            }
        }
        write_hashed(path, bytes)
    }

    /// Writes the index to `path`, a new file, with what each of its entries' files is now. `stats` are in the
    /// order of the entries; where there is none, git will look at the file.
    pub fn write_with(&self, path: &Path, stats: &[Option<FileStat>]) -> io::Result<()> {
        let mut bytes = self.bytes[..self.end].to_vec();
        for (entry, stat) in self.entries.iter().zip(stats) {
            stat.unwrap_or_default()
                .write(&mut bytes[entry.at..entry.at + STATS]);
        }
        // What else may follow is about the place that the index comes from.
        bytes.extend_from_slice(&self.bytes[self.tree.clone().unwrap_or_default()]);
        write_hashed(path, bytes)
    }
}

fn write_hashed(path: &Path, mut bytes: Vec<u8>) -> io::Result<()> {
    let hash = digest(&SHA1, &bytes);
    bytes.extend_from_slice(hash.as_ref());
    fs::write(path, bytes)
}

impl IndexedFile {
    fn parse(bytes: &[u8], at: usize) -> Option<Self> {
        let flags = u16::from_be_bytes(bytes.get(at + FIXED - 2..at + FIXED)?.try_into().ok()?);
        let start = at + FIXED + if flags & EXTENDED == 0 { 0 } else { 2 };
        let len = memchr::memchr(0, bytes.get(start..)?)?;
        Some(Self {
            at,
            path: start..start + len,
            flags,
            mode: number(bytes, at + 24)?,
        })
    }

    pub fn mode(&self) -> u32 {
        self.mode
    }

    /// The second flags are those of paths that are not checked out or not added yet.
    fn is_plain(&self) -> bool {
        self.flags & (ASSUME_UNCHANGED | STAGE | EXTENDED) == 0
    }

    pub fn is_merged(&self) -> bool {
        self.flags & STAGE == 0
    }

    /// Whether it is what the current branch has at a path that is not merged.
    pub fn is_ours(&self) -> bool {
        self.flags & STAGE == OURS
    }

    /// Whether git takes its file for unchanged without a look at it.
    pub fn is_assumed(&self) -> bool {
        self.flags & ASSUME_UNCHANGED != 0
    }
}

impl FileStat {
    /// What libgit2 read of an entry.
    #[expect(
        clippy::cast_sign_loss,
        reason = "the index has 32 bits without a sign"
    )]
    pub(super) fn noted(entry: &git2::IndexEntry) -> Self {
        let moment = |time: git2::IndexTime| (time.seconds() as u32, time.nanoseconds());
        Self {
            changed: moment(entry.ctime),
            modified: moment(entry.mtime),
            inode: entry.ino,
            owner: (entry.uid, entry.gid),
            size: entry.file_size,
        }
    }

    pub fn of(stat: &Stat) -> Self {
        Self {
            changed: (narrow(stat.st_ctime), narrow(stat.st_ctime_nsec)),
            modified: (narrow(stat.st_mtime), narrow(stat.st_mtime_nsec)),
            inode: narrow(stat.st_ino),
            owner: (stat.st_uid, stat.st_gid),
            size: narrow(stat.st_size),
        }
    }

    /// The same of a file that git is to look into.
    pub(crate) fn in_doubt(self) -> Self {
        Self { size: 0, ..self }
    }

    pub fn modified(&self) -> Moment {
        self.modified
    }

    pub fn size(&self) -> u32 {
        self.size
    }

    /// Overwrites all that an entry says of its file but the mode. The device is left at zero: git does not
    /// look at it.
    fn write(&self, fixed: &mut [u8]) {
        let mut put = |n: usize, value: u32| {
            fixed[4 * n..4 * n + 4].copy_from_slice(&value.to_be_bytes());
        };
        put(0, self.changed.0);
        put(1, self.changed.1);
        put(2, self.modified.0);
        put(3, self.modified.1);
        put(4, 0);
        put(5, self.inode);
        put(7, self.owner.0);
        put(8, self.owner.1);
        put(9, self.size);
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

/// The low half, which is all that the index has room for.
#[expect(clippy::cast_possible_truncation, reason = "git does the same")]
fn narrow(value: impl TryInto<i128>) -> u32 {
    value.try_into().map_or(0, |value| value as u32)
}

#[cfg(test)]
mod tests;
