//! Directory trees from one place to another, by several threads and with their times. No link is followed, at either
//! end.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use branchyard_model::sha256;
use branchyard_runtime::disk::parallel;
use rustix::fs::{
    AtFlags, Mode, Stat, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat, futimens, readlinkat,
    symlinkat, utimensat,
};
use rustix::fs::{FileType, statat};

use crate::beneath;
use crate::copy::Copier;
use crate::error::ArtifactError;
use crate::restore::not_copied;
use crate::walk::{EntryKind, FoundEntry};

const AT_ONCE: usize = 64;
const PERMISSIONS: u32 = 0o777;
/// A directory that its owner could not write to could not be removed either.
const OPEN: u32 = 0o700;

/// What was copied of one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CopiedEntry {
    pub(crate) mode: u32,
    pub(crate) bytes: u64,
    /// The digest of a file, and where a link leads.
    pub(crate) content: Vec<u8>,
}

/// Both ends of a copy.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ends<'a> {
    pub(crate) from: &'a OwnedFd,
    pub(crate) to: &'a OwnedFd,
}

/// Whether the content of files is hashed while it is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hashes {
    All,
    None,
}

/// Copies entries, parents first, in place of files and links that are there. Directories that are there stay as they
/// are. Returns what was copied of each; nothing of one that went meanwhile.
pub(crate) fn copy(
    entries: &[FoundEntry],
    ends: Ends<'_>,
    copier: &Copier,
    hashes: Hashes,
) -> Result<Vec<Option<CopiedEntry>>, ArtifactError> {
    let fresh = make_dirs(entries, ends.to)?;
    let shared = parallel::share(entries.len(), AT_ONCE, Vec::new, |copied, n| {
        let entry = &entries[n];
        let done = match entry.kind {
            EntryKind::Dir => return Ok(()),
            EntryKind::Link => copy_link(ends, &entry.path),
            EntryKind::File => copy_file(ends, &entry.path, copier, hashes),
        };
        copied.push((n, done.map_err(|error| not_copied(&entry.path, error))?));
        Ok(())
    });
    let shared = shared.map_err(ArtifactError::io("copy a tree"))?;
    let mut copied = vec![None; entries.len()];
    for (n, entry) in shared.into_iter().flatten() {
        copied[n] = entry;
    }
    // Inner ones first, for each changes the one that it is in.
    for (n, entry) in entries.iter().enumerate().rev() {
        if entry.kind == EntryKind::Dir {
            let is_fresh = fresh.contains(&*entry.path);
            let done = finish_dir(ends, &entry.path, is_fresh);
            copied[n] = done.map_err(|error| not_copied(&entry.path, error))?;
        }
    }
    Ok(copied)
}

/// Makes the directories of all entries. Returns those entries that were not there.
fn make_dirs<'e>(
    entries: &'e [FoundEntry],
    to: &OwnedFd,
) -> Result<HashSet<&'e Path>, ArtifactError> {
    let (mut known, mut fresh) = (HashSet::new(), HashSet::new());
    for entry in entries {
        let dir = match entry.kind {
            EntryKind::Dir => &*entry.path,
            _ => entry.path.parent().unwrap_or(Path::new("")),
        };
        if !known.insert(dir) {
            continue;
        }
        let failed = |error| not_copied(dir, error);
        match beneath::open_dir(to, dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                beneath::make_dirs(to, dir).map_err(failed)?;
                fresh.insert(dir);
            }
            there => drop(there.map_err(failed)?),
        }
    }
    Ok(fresh)
}

fn copy_file(
    ends: Ends<'_>,
    path: &Path,
    copier: &Copier,
    hashes: Hashes,
) -> io::Result<Option<CopiedEntry>> {
    let source = match beneath::open_file(ends.from, path) {
        Err(error) if beneath::has_changed(&error) => return Ok(None),
        source => source?,
    };
    let stat = fstat(&source)?;
    if !FileType::from_raw_mode(stat.st_mode).is_file() {
        return Ok(None);
    }
    let mode = stat.st_mode & PERMISSIONS;
    let target = create(ends.to, path, mode)?;
    let (bytes, digest) = match hashes {
        Hashes::All => copier.copy_hashed(&source, &target)?,
        Hashes::None => (copier.copy(&source, &target)?, String::new()),
    };
    // What it was created with is less what the daemon's mask takes away.
    fchmod(&target, Mode::from_raw_mode(mode))?;
    futimens(&target, &modified(&stat))?;
    let content = digest.into_bytes();
    Ok(Some(CopiedEntry {
        mode,
        bytes,
        content,
    }))
}

fn create(to: &OwnedFd, path: &Path, mode: u32) -> io::Result<File> {
    let dir = beneath::open_dir(to, path.parent().unwrap_or(Path::new("")))?;
    beneath::create_file(&dir, path.file_name().unwrap_or_default(), mode)
}

fn copy_link(ends: Ends<'_>, path: &Path) -> io::Result<Option<CopiedEntry>> {
    let (parent, name) = (
        path.parent().unwrap_or(Path::new("")),
        path.file_name().unwrap_or_default(),
    );
    let read = || {
        let dir = beneath::open_dir(ends.from, parent)?;
        let stat = statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let target = readlinkat(&dir, name, Vec::new())?;
        Ok((stat, target))
    };
    let (stat, target) = match read() {
        Err(error) if beneath::has_changed(&error) => return Ok(None),
        // It is no link any more.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => return Ok(None),
        read => read?,
    };
    let dir = beneath::open_dir(ends.to, parent)?;
    beneath::in_place(&dir, name, || symlinkat(&*target, &dir, name))?;
    utimensat(&dir, name, &modified(&stat), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Some(CopiedEntry {
        mode: 0,
        bytes: 0,
        content: target.into_bytes(),
    }))
}

fn finish_dir(ends: Ends<'_>, path: &Path, is_fresh: bool) -> io::Result<Option<CopiedEntry>> {
    let stat = match beneath::open_dir(ends.from, path) {
        Err(error) if beneath::has_changed(&error) => return Ok(None),
        dir => fstat(&dir?)?,
    };
    let mode = stat.st_mode & PERMISSIONS | OPEN;
    if is_fresh {
        let dir = beneath::open_dir(ends.to, path)?;
        fchmod(&dir, Mode::from_raw_mode(mode))?;
        futimens(&dir, &modified(&stat))?;
    }
    Ok(Some(CopiedEntry {
        mode,
        bytes: 0,
        content: Vec::new(),
    }))
}

/// Only when it was modified; when it was read is of no interest.
fn modified(stat: &Stat) -> Timestamps {
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: stat.st_mtime,
            // Below a thousand million.
            tv_nsec: stat.st_mtime_nsec.try_into().unwrap_or(0),
        },
    }
}

/// The digest of a tree, whenever its files were modified.
#[derive(Debug, Default)]
pub(crate) struct TreeDigest(Vec<String>);

impl TreeDigest {
    /// `base` is what the entry's path is relative to.
    pub(crate) fn add(&mut self, base: &str, entry: &FoundEntry, copied: &CopiedEntry) {
        let kind = match entry.kind {
            EntryKind::Dir => 'd',
            EntryKind::File => 'f',
            EntryKind::Link => 'l',
        };
        let CopiedEntry { mode, content, .. } = copied;
        // Neither a path nor the target of a link need be text, and both may have line breaks.
        let (path, content) = (sha256(entry.path.as_os_str().as_bytes()), sha256(content));
        self.0
            .push(format!("{kind} {mode:o} {path} {content} {base}\n"));
    }

    pub(crate) fn finish(mut self) -> String {
        self.0.sort_unstable();
        sha256(self.0.concat().as_bytes())
    }
}
