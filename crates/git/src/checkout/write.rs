//! The files themselves, by several threads, each with a handle of its own on the objects: what is in one directory
//! is mostly written by one of them. Links come last, so that there is none that a path could lead through; and
//! no path is resolved through one in any case.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use git2::{ObjectType, Odb, OdbObject};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::LeftToGit;
use super::index::Stamp;
use super::plan::{CheckoutEntry, CheckoutKind, CheckoutPlan, Directory};
use branchyard_runtime::disk::parallel::on_threads;

/// A thread takes so many files of a directory at a time, and is not worth starting for fewer.
const AT_ONCE: usize = 32;
/// Git writes larger files without holding all of them in memory.
const MAX_SIZE: usize = 32 << 20;

/// Writes all of the plan that is not left to git at `root`, an empty directory, with blobs of the store at
/// `store`. Returns what the file system says of each entry, or nothing where it was left after all.
pub(super) fn files(
    plan: &CheckoutPlan,
    root: &Path,
    store: &Path,
    threads: usize,
) -> Result<Vec<Option<Stamp>>, LeftToGit> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::openat(CWD, root, flags, Mode::empty())?;
    let portions = Portions::of(plan);
    let threads = threads.clamp(1, portions.all.len().max(1));
    let work = || {
        let written = FileWriter::new(plan, &root, store).and_then(|writer| writer.work(&portions));
        if written.is_err() {
            portions.give_up.store(true, Ordering::Relaxed);
        }
        written
    };
    let mut stamps = vec![None; plan.entries.len()];
    for written in on_threads(threads, work) {
        let written = written.unwrap_or_else(|_| LeftToGit::unusual("a thread panicked"));
        for (number, stamp) in written? {
            stamps[number] = stamp;
        }
    }
    FileWriter::new(plan, &root, store)?.links(&mut stamps)?;
    Ok(stamps)
}

/// The work, in portions that each thread takes from until there are none.
struct Portions<'plan> {
    all: Vec<(&'plan Directory, &'plan [usize])>,
    next: AtomicUsize,
    give_up: AtomicBool,
}

impl<'plan> Portions<'plan> {
    fn of(plan: &'plan CheckoutPlan) -> Self {
        let all = plan
            .directories
            .iter()
            .flat_map(|directory| {
                let portions = directory.own.chunks(AT_ONCE);
                portions.map(move |portion| (directory, portion))
            })
            .collect();
        Self {
            all,
            next: AtomicUsize::new(0),
            give_up: AtomicBool::new(false),
        }
    }

    fn take(&self) -> Option<(&'plan Directory, &'plan [usize])> {
        if self.give_up.load(Ordering::Relaxed) {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.all.get(number).copied()
    }
}

struct FileWriter<'a> {
    plan: &'a CheckoutPlan,
    root: &'a OwnedFd,
    odb: Odb<'a>,
}

/// The entries of the plan that were dealt with, and what the file system says of those that were written.
type Written = Vec<(usize, Option<Stamp>)>;

impl<'a> FileWriter<'a> {
    fn new(plan: &'a CheckoutPlan, root: &'a OwnedFd, store: &Path) -> Result<Self, LeftToGit> {
        let Some(objects) = store.join("objects").to_str().map(str::to_owned) else {
            return LeftToGit::unusual("the store's path is not UTF-8");
        };
        let odb = Odb::new()?;
        odb.add_disk_alternate(&objects)?;
        Ok(Self { plan, root, odb })
    }

    fn work(&self, portions: &Portions<'_>) -> Result<Written, LeftToGit> {
        let mut written = Vec::new();
        while let Some((directory, portion)) = portions.take() {
            let place = self.directory(&directory.path)?;
            for number in portion {
                let entry = &self.plan.entries[*number];
                let stamp = match entry.kind() {
                    _ if entry.is_left() => None,
                    CheckoutKind::File => self.file(&place, entry, 0o666)?,
                    CheckoutKind::Program => self.file(&place, entry, 0o777)?,
                    CheckoutKind::Submodule => Some(submodule(&place, entry)?),
                    CheckoutKind::Link => continue,
                };
                written.push((*number, stamp));
            }
        }
        Ok(written)
    }

    fn links(&self, stamps: &mut [Option<Stamp>]) -> Result<(), LeftToGit> {
        for directory in &self.plan.directories {
            for number in &directory.own {
                let entry = &self.plan.entries[*number];
                if entry.kind() == CheckoutKind::Link {
                    let place = self.directory(&directory.path)?;
                    stamps[*number] = self.link(&place, entry)?;
                }
            }
        }
        Ok(())
    }

    /// The directory of that path, made unless another thread was first. There was nothing here before, so one
    /// that exists is ours.
    fn directory(&self, path: &[u8]) -> Result<OwnedFd, LeftToGit> {
        match self.open(path) {
            Err(Errno::NOENT) => {}
            opened => return Ok(opened?),
        }
        match rustix::fs::mkdirat(self.root, path, Mode::from_raw_mode(0o777)) {
            Err(Errno::NOENT) => {
                let parent = path.rsplitn(2, |byte| *byte == b'/').nth(1);
                self.directory(parent.unwrap_or_default())?;
                self.directory(path)
            }
            Err(errno) if errno != Errno::EXIST => Err(errno.into()),
            _ => Ok(self.open(path)?),
        }
    }

    fn open(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let path: &[u8] = if path.is_empty() { b"." } else { path };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(self.root, path, flags, Mode::empty(), resolve)
    }

    /// A blob, unless it is a large one.
    fn blob(&self, entry: &CheckoutEntry) -> Result<Option<OdbObject<'_>>, LeftToGit> {
        if self.odb.read_header(entry.id())?.0 > MAX_SIZE {
            return Ok(None);
        }
        let object = self.odb.read(entry.id())?;
        match object.kind() {
            ObjectType::Blob => Ok(Some(object)),
            _ => LeftToGit::unusual("a file's content is not a blob"),
        }
    }

    fn file(
        &self,
        place: &OwnedFd,
        entry: &CheckoutEntry,
        mode: u32,
    ) -> Result<Option<Stamp>, LeftToGit> {
        let Some(blob) = self.blob(entry)? else {
            return Ok(None);
        };
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode);
        let mut file = File::from(rustix::fs::openat(place, entry.name(), flags, mode)?);
        file.write_all(blob.data())?;
        Ok(Some(Stamp::of(&rustix::fs::fstat(&file)?)))
    }

    fn link(&self, place: &OwnedFd, entry: &CheckoutEntry) -> Result<Option<Stamp>, LeftToGit> {
        let Some(target) = self.blob(entry)? else {
            return Ok(None);
        };
        rustix::fs::symlinkat(target.data(), place, entry.name())?;
        stamp_of(place, entry).map(Some)
    }
}

fn submodule(place: &OwnedFd, entry: &CheckoutEntry) -> Result<Stamp, LeftToGit> {
    rustix::fs::mkdirat(place, entry.name(), Mode::from_raw_mode(0o777))?;
    stamp_of(place, entry)
}

fn stamp_of(place: &OwnedFd, entry: &CheckoutEntry) -> Result<Stamp, LeftToGit> {
    let stat = rustix::fs::statat(place, entry.name(), AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(Stamp::of(&stat))
}
