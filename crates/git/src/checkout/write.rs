//! The files themselves. Links come last, so that there is none that a path could lead through; and no path is
//! resolved through one in any case.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use git2::Blob;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Stat};
use rustix::io::Errno;

use super::plan::{CheckoutEntry, CheckoutKind};
use crate::Repository;
use branchyard_runtime::disk::parallel::share;

/// A thread takes so many files at a time, and is not worth starting for fewer.
const AT_ONCE: usize = 32;
/// Git writes larger files without holding all of them in memory.
const MAX_SIZE: usize = 32 << 20;
const TO_DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Writes all entries that are not left at `root`, where none of them is yet, with blobs of the store at `store`.
/// Returns what the file system says of each, or nothing where it was left after all.
pub(crate) fn files(
    entries: &[CheckoutEntry],
    root: &Path,
    store: &Path,
) -> io::Result<Vec<Option<Stat>>> {
    let root = rustix::fs::openat(CWD, root, TO_DIRECTORY, Mode::empty())?;
    let writer = || FileWriter {
        entries,
        root: &root,
        store,
        repo: None,
        place: None,
        written: Vec::new(),
    };
    let is_link = |n: usize| entries[n].kind() == CheckoutKind::Link;
    let mut writers = share(entries.len(), AT_ONCE, writer, |writer, n| {
        match is_link(n) {
            true => Ok(()),
            false => writer.write(n),
        }
    })?;
    let mut links = writer();
    (0..entries.len())
        .filter(|n| is_link(*n))
        .try_for_each(|n| links.write(n))?;
    writers.push(links);
    let mut stats = vec![None; entries.len()];
    for (n, stat) in writers.into_iter().flat_map(|writer| writer.written) {
        stats[n] = Some(stat);
    }
    Ok(stats)
}

/// What one thread has: a handle of its own on the objects, and the directory that it writes to.
struct FileWriter<'a> {
    entries: &'a [CheckoutEntry],
    root: &'a OwnedFd,
    store: &'a Path,
    repo: Option<Repository>,
    place: Option<(&'a [u8], OwnedFd)>,
    written: Vec<(usize, Stat)>,
}

impl<'a> FileWriter<'a> {
    fn write(&mut self, n: usize) -> io::Result<()> {
        let entry = &self.entries[n];
        if entry.is_left() {
            return Ok(());
        }
        let repo = match &self.repo {
            Some(repo) => repo,
            None => {
                let repo = Repository::open_bare(self.store).map_err(io::Error::other)?;
                self.repo.insert(repo)
            }
        };
        let path = entry.directory();
        let place = match &self.place {
            Some((known, place)) if *known == path => place,
            _ => &self.place.insert((path, directory(self.root, path)?)).1,
        };
        if let Some(stat) = put(repo, place, entry)? {
            self.written.push((n, stat));
        }
        Ok(())
    }
}

/// Writes one entry, where nothing is. Not a large one, and none that was written to meanwhile.
fn put(repo: &Repository, place: &OwnedFd, entry: &CheckoutEntry) -> io::Result<Option<Stat>> {
    if entry.kind() == CheckoutKind::Submodule {
        let made = rustix::fs::mkdirat(place, entry.name(), Mode::from_raw_mode(0o777));
        return match is_made(made)? {
            Some(()) => stat_of(place, entry).map(Some),
            None => Ok(None),
        };
    }
    let Some(blob) = blob(repo, entry).map_err(io::Error::other)? else {
        return Ok(None);
    };
    let stat = match entry.kind() {
        CheckoutKind::Link => {
            let made = rustix::fs::symlinkat(blob.content(), place, entry.name());
            is_made(made)?.map(|()| stat_of(place, entry))
        }
        CheckoutKind::Program => file(place, entry, 0o777, blob.content())?.map(Ok),
        _ => file(place, entry, 0o666, blob.content())?.map(Ok),
    };
    let is_whole = |stat: &Stat| u64::try_from(stat.st_size) == Ok(blob.size() as u64);
    Ok(stat.transpose()?.filter(is_whole))
}

fn file(
    place: &OwnedFd,
    entry: &CheckoutEntry,
    mode: u32,
    content: &[u8],
) -> io::Result<Option<Stat>> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(place, entry.name(), flags, Mode::from_raw_mode(mode));
    let Some(mut file) = is_made(opened)?.map(File::from) else {
        return Ok(None);
    };
    let written = file.write_all(content);
    let stat = rustix::fs::fstat(&file)?;
    if let Err(error) = written {
        // A part of it would pass for what a person wrote; what stands there in its place is a person's.
        if stat_of(place, entry).is_ok_and(|there| there.st_ino == stat.st_ino) {
            rustix::fs::unlinkat(place, entry.name(), AtFlags::empty())?;
        }
        return Err(error);
    }
    Ok(Some(stat))
}

/// What was made; `None` where something is there already, which stays.
fn is_made<T>(made: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(Errno::EXIST) => Ok(None),
        Err(errno) => Err(errno),
    }
}

fn blob<'r>(repo: &'r Repository, entry: &CheckoutEntry) -> Result<Option<Blob<'r>>, git2::Error> {
    match repo.git2().odb()?.read_header(entry.id())?.0 > MAX_SIZE {
        true => Ok(None),
        false => repo.git2().find_blob(entry.id()).map(Some),
    }
}

fn stat_of(place: &OwnedFd, entry: &CheckoutEntry) -> io::Result<Stat> {
    Ok(rustix::fs::statat(
        place,
        entry.name(),
        AtFlags::SYMLINK_NOFOLLOW,
    )?)
}

/// The directory of that path, made unless another thread was first. There was nothing here before, so one
/// that exists is ours.
fn directory(root: &OwnedFd, path: &[u8]) -> io::Result<OwnedFd> {
    let open = || {
        let path: &[u8] = if path.is_empty() { b"." } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(root, path, TO_DIRECTORY, Mode::empty(), resolve)
    };
    match open() {
        Err(Errno::NOENT) => {}
        opened => return Ok(opened?),
    }
    let parent = path.rsplitn(2, |byte| *byte == b'/').nth(1);
    let parent = directory(root, parent.unwrap_or_default())?;
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    match rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => Ok(open()?),
        Err(errno) => Err(errno.into()),
    }
}
