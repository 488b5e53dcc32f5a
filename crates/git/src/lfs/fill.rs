//! Puts contents in the place of pointers. Each is written aside first and changes places with its pointer at once; a file that a
//! person or a build wrote there meanwhile is put back.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use git2::{ObjectType, Oid};
use rustix::fs::{Mode, Stat};
use uuid::Uuid;

use super::{LfsObjects, LfsPointer, PointerFile};
use crate::index_file::{self, FileStat, IndexFile, IndexedFile, settle};
use crate::plain_file::read_plain;
use crate::verbs::conflicts::{Read, Working};
use crate::{Error, Git};
use branchyard_runtime::disk::parallel::share;
use branchyard_runtime::disk::{Moment, Trash, if_there};

/// A thread takes so many files at a time, and is not worth starting for fewer.
const AT_ONCE: usize = 4;
const PERMISSIONS: u32 = 0o777;
/// How long another git may hold the index, and how often that is looked at.
const INDEX_PATIENCE: Duration = Duration::from_secs(3);
const INDEX_POLL: Duration = Duration::from_millis(10);

/// Has these files of the worktree at `root`, whose registration is `admin`, be what they stand for, as far as the store has
/// it; those that it does not have are returned. In `staging`, on the same file system, contents are written first. Blocks.
pub fn fill_pointers(
    (root, admin): (&Path, &Path),
    files: &[PointerFile],
    objects: &LfsObjects,
    (staging, git): (&Path, &Git),
) -> Result<Vec<PointerFile>, Error> {
    let failed = || Error::io("write LFS files");
    let working = Working::open(root)?;
    let copier = || Copier {
        objects,
        staging,
        working: &working,
        trash: git.trash(),
        written: Vec::new(),
        missing: Vec::new(),
    };
    let copied = share(files.len(), AT_ONCE, copier, |copier, n| {
        copier.copy(&files[n], n)
    });
    let (mut written, mut missing) = (Vec::new(), Vec::new());
    for copier in copied.map_err(failed())? {
        written.extend(
            copier
                .written
                .into_iter()
                .map(|(n, spare)| (&files[n], spare)),
        );
        missing.extend(copier.missing.into_iter().map(|n| files[n].clone()));
    }
    if !written.is_empty() {
        place(&working, &admin.join("index"), &written).map_err(failed())?;
    }
    Ok(missing)
}

/// A content that was written aside.
struct Spare<'a> {
    path: PathBuf,
    /// With the next field, what tells whether a person or a build has written to it since.
    inode: u64,
    stat: FileStat,
    trash: &'a Trash,
    /// It is in its place, and here is its pointer.
    is_placed: Cell<bool>,
}

impl Spare<'_> {
    /// Whether the file that was found is this one, as it was written here.
    fn is(&self, found: &Stat) -> bool {
        let now = FileStat::of(found);
        found.st_ino == self.inode
            && (now.modified(), now.size()) == (self.stat.modified(), self.stat.size())
    }
}

impl Drop for Spare<'_> {
    fn drop(&mut self) {
        let gone = match rustix::fs::lstat(&self.path) {
            Ok(found) if self.is_placed.get() || found.st_ino == self.inode => {
                fs::remove_file(&self.path)
            }
            // A file of a person or a build, which was where the pointer belongs: the quarantine keeps it.
            Ok(_) => self.trash.take_seen(&self.path, &"lfs", Moment::EPOCH),
            Err(_) => Ok(()),
        };
        if let Err(error) = gone {
            tracing::warn!(path = %self.path.display(), %error, "stays until the next start");
        }
    }
}

/// What one thread writes, and the number of each file that it is for.
struct Copier<'a> {
    objects: &'a LfsObjects,
    staging: &'a Path,
    working: &'a Working,
    trash: &'a Trash,
    written: Vec<(usize, Spare<'a>)>,
    missing: Vec<usize>,
}

impl Copier<'_> {
    fn copy(&mut self, of: &PointerFile, n: usize) -> io::Result<()> {
        // It may have been looked for a while ago.
        let is_there = match self.working.read(&of.path, LfsPointer::MOST) {
            Read::Whole(content) => is_blob(&content, of),
            Read::TooLarge | Read::NoFile => false,
        };
        let Some(there) = self.working.stat(&of.path)?.filter(|_| is_there) else {
            return Ok(());
        };
        let Some(object) = self.objects.open(&of.pointer)? else {
            self.missing.push(n);
            return Ok(());
        };
        let path = self.staging.join(format!("lfs-{}", Uuid::now_v7()));
        let file = File::create_new(&path)?;
        let made = rustix::fs::fstat(&file)?;
        let mut spare = Spare {
            path,
            inode: made.st_ino,
            stat: FileStat::of(&made),
            trash: self.trash,
            is_placed: Cell::new(false),
        };
        if of.pointer.copy(object, &file)? {
            let mode = Mode::from_raw_mode(there.st_mode & PERMISSIONS);
            rustix::fs::fchmod(&file, mode)?;
            spare.stat = FileStat::of(&rustix::fs::fstat(&file)?);
            self.written.push((n, spare));
        } else {
            self.objects.drop_damaged(&of.pointer)?;
            self.missing.push(n);
        }
        Ok(())
    }
}

fn is_blob(content: &[u8], of: &PointerFile) -> bool {
    Oid::hash_object(ObjectType::Blob, content).is_ok_and(|id| id == of.id)
}

/// Puts what was written in the place of the pointers, and tells the index.
fn place(working: &Working, index: &Path, written: &[(&PointerFile, Spare<'_>)]) -> io::Result<()> {
    let lock = IndexLock::take(index)?;
    let read = IndexFile::read_any(index)?;
    // What was done is told to the index also where something fails.
    let exchanged = written
        .iter()
        .try_for_each(|(of, spare)| exchange(working, of, spare));
    let placed = written.iter().filter(|(_, spare)| spare.is_placed.get());
    let newest = placed.clone().map(|(_, spare)| spare.stat.modified()).max();
    if let (Some(read), Some(newest)) = (read, newest) {
        wait_for_second_after(newest);
        let placed = placed.map(|(of, spare)| (of.path.as_os_str().as_bytes(), (of.id, spare)));
        let placed: HashMap<&[u8], (Oid, &Spare<'_>)> = placed.collect();
        let stat = |entry: &IndexedFile| {
            let path = read.path(entry);
            let found = || {
                working
                    .stat(Path::new(OsStr::from_bytes(path)))
                    .ok()
                    .flatten()
            };
            match placed.get(path) {
                Some((id, spare)) if read.id(entry).is_some_and(|of| of.git2() == *id) => {
                    let found = found().filter(|found| spare.is(found))?;
                    Some(FileStat::of(&found))
                }
                Some(_) => None,
                None => {
                    let noted = read.stat(entry);
                    let is_doubtful = read.is_racy_in_seconds(&noted)
                        && !found().is_some_and(|found| read.is_as_noted(entry, &found));
                    is_doubtful.then(|| noted.in_doubt())
                }
            }
        };
        read.write_assuming(&lock.path, IndexedFile::is_assumed, stat)?;
        settle(&lock.path, (newest.0, u32::MAX))?;
        fs::rename(&lock.path, index)?;
    }
    exchanged
}

/// Most gits compare seconds, and look into files that are no older than the index: one that does not know git-lfs would find
/// other contents than the index has. So the index is of a later second than they.
fn wait_for_second_after((second, _): index_file::Moment) {
    let next = UNIX_EPOCH + Duration::from_secs(u64::from(second) + 1);
    if let Ok(pause) = next.duration_since(SystemTime::now()) {
        thread::sleep(pause.min(Duration::from_secs(1)));
    }
}

/// Has the content and its pointer change places. Not if the pointer is gone, or is something else by now.
fn exchange(working: &Working, of: &PointerFile, spare: &Spare<'_>) -> io::Result<()> {
    if if_there(working.exchange(&of.path, &spare.path))?.is_none() {
        return Ok(());
    }
    // What cannot be read is no pointer of ours.
    let there = read_plain(&spare.path, LfsPointer::MOST).ok().flatten();
    if there.is_some_and(|there| is_blob(&there, of)) {
        spare.is_placed.set(true);
        return Ok(());
    }
    if_there(working.exchange(&of.path, &spare.path)).map(drop)
}

/// The lock that every git takes to write the index.
struct IndexLock {
    path: PathBuf,
}

impl IndexLock {
    fn take(index: &Path) -> io::Result<Self> {
        let path = index.with_extension("lock");
        let patience = Instant::now() + INDEX_PATIENCE;
        loop {
            match File::create_new(&path) {
                Ok(_) => return Ok(Self { path }),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                Err(error) if Instant::now() >= patience => return Err(error),
                Err(_) => thread::sleep(INDEX_POLL),
            }
        }
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        if let Err(error) = if_there(fs::remove_file(&self.path)) {
            tracing::warn!(path = %self.path.display(), %error, "git waits for a lock");
        }
    }
}
