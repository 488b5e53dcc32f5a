//! The trash: whatever is to go is renamed into it, which is instant and whole, and deleted later by
//! one thread of low priority. What a daemon that was killed left in it, the next one deletes.
//!
//! It is decided that something may go before it does, and people write when they like. So what was written since the
//! decision is not deleted: it is moved to the quarantine.

use std::fmt::Display;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use uuid::Uuid;

use super::{Moment, Quarantine, if_there, mount_of, mounted_in};
use crate::background::Loops;

/// Less than builds have. Not as little as there is: on a busy machine a daemon that stops would leave all to the next.
const NICE: i32 = 10;
/// How often is tried to delete what somebody still writes to, and how long is waited in between: there is
/// nothing to be woken by.
const ATTEMPTS: usize = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// In a name, before the moment at which it was looked at.
const SEEN: &str = "~seen~";
/// How often an entry is looked through while a program still writes to it.
const ROUNDS: usize = 20;
const LATE: &str = "written while it was being discarded, after the rest was saved";

/// Cheap to clone. Its thread ends with the last clone, once all is deleted.
#[derive(Debug, Clone)]
pub struct Trash {
    dir: PathBuf,
    doomed: Sender<PathBuf>,
    /// How many entries wait to be deleted.
    left: Arc<(Mutex<usize>, Condvar)>,
}

impl Trash {
    /// The trash in `dir`, which must be on the file system of what is to go there.
    pub fn open(dir: PathBuf, loops: &Loops) -> io::Result<Self> {
        fs::create_dir_all(&dir)?;
        let (doomed, queue) = channel();
        let trash = Self {
            dir,
            doomed,
            left: Arc::default(),
        };
        for entry in fs::read_dir(&trash.dir)? {
            trash.doom(entry?.path());
        }
        let left = trash.left.clone();
        loops.keep_thread("trash", move || empty(&queue, &left))?;
        Ok(trash)
    }

    /// Moves `path` out of sight, to be deleted later. `name` is for people who look into the trash.
    pub fn take(&self, path: &Path, name: &dyn Display) -> io::Result<()> {
        let doomed = self.set_aside(path, name)?;
        self.doom(doomed);
        Ok(())
    }

    /// The same for the caller to delete; where it is now. After a crash it is deleted by the next daemon.
    pub fn set_aside(&self, path: &Path, name: &dyn Display) -> io::Result<PathBuf> {
        refuse_mounts(path)?;
        let aside = self.dir.join(format!("{name}-{}", Uuid::now_v7()));
        self.move_in(path, &aside)?;
        Ok(aside)
    }

    /// The same for what was found to be saved, or not worth it, when it was looked at after `looked_at`. What was
    /// written since is kept.
    pub fn take_seen(&self, path: &Path, name: &dyn Display, looked_at: Moment) -> io::Result<()> {
        let meta = fs::symlink_metadata(path)?;
        let id = Uuid::now_v7();
        if meta.is_dir() {
            refuse_mounts(path)?;
            // It is looked through when it is deleted.
            let doomed = format!("{name}{SEEN}{}-{id}", looked_at.nanos());
            let doomed = self.dir.join(doomed);
            self.move_in(path, &doomed)?;
            self.doom(doomed);
            return Ok(());
        }
        let doomed = self.dir.join(format!("{name}-{id}"));
        self.move_in(path, &doomed)?;
        // To be moved changes a file, too, so that is asked of what it was before.
        let is_late = looked_at.is_before_change(&meta)
            || looked_at.is_before_write(&fs::symlink_metadata(&doomed)?);
        if is_late {
            let kept = quarantine_beside(&self.dir).take(&doomed, &name.to_string(), LATE)?;
            tracing::warn!(was = %path.display(), kept = %kept.display(), "kept: written while it was being discarded");
            return Ok(());
        }
        self.doom(doomed);
        Ok(())
    }

    /// An error if a directory cannot be moved here: it is on another file system, or one is mounted in it.
    pub fn check(&self, path: &Path) -> io::Result<()> {
        refuse_mounts(path)?;
        if mount_of(path)? == mount_of(&self.dir)? {
            return Ok(());
        }
        let (path, dir) = (path.display(), self.dir.display());
        let why = format!("{path} and {dir} are not on the same mount");
        Err(io::Error::new(io::ErrorKind::CrossesDevices, why))
    }

    fn move_in(&self, path: &Path, doomed: &Path) -> io::Result<()> {
        match fs::rename(path, doomed) {
            // A directory that is closed to writing cannot be told that it has another parent.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                rename_protected(path, doomed).map_err(|_| error)?;
            }
            // Somebody deleted the directory by hand.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !self.dir.exists() => {
                fs::create_dir_all(&self.dir)?;
                fs::rename(path, doomed)?;
            }
            moved => moved?,
        }
        Ok(())
    }

    fn doom(&self, path: PathBuf) {
        *self.left.0.lock() += 1;
        // Without its thread the trash is emptied at the next start.
        let _ = self.doomed.send(path);
    }

    /// Waits until all is deleted, for so long at most. Returns whether it is.
    pub fn wait(&self, patience: Duration) -> bool {
        let (left, changed) = &*self.left;
        let mut left = left.lock();
        changed.wait_while_for(&mut left, |left| *left > 0, patience);
        *left == 0
    }
}

/// One of the entries that wait, until it is deleted or could not be.
struct WaitingEntry<'a>(&'a (Mutex<usize>, Condvar));

impl Drop for WaitingEntry<'_> {
    fn drop(&mut self) {
        let (left, changed) = self.0;
        *left.lock() -= 1;
        changed.notify_all();
    }
}

fn empty(queue: &Receiver<PathBuf>, left: &(Mutex<usize>, Condvar)) {
    // On Linux this is about the calling thread alone.
    if let Err(error) = rustix::process::nice(NICE) {
        tracing::debug!(%error, "the trash is emptied at the usual priority");
    }
    for path in queue {
        let _waiting = WaitingEntry(left);
        if let Err(error) = keep_what_came_late(&path) {
            tracing::warn!(path = %path.display(), %error, "stays in the trash: it may hold what was written late");
            continue;
        }
        if let Err(error) = if_there(delete_patiently(&path)) {
            tracing::warn!(path = %path.display(), %error, "failed to empty the trash");
        }
    }
}

fn quarantine_beside(trash: &Path) -> Quarantine {
    Quarantine::at(trash.with_file_name("quarantine"))
}

/// Moves to the quarantine what was written after the rest was looked at, by whatever is in an entry of the trash.
fn keep_what_came_late(entry: &Path) -> io::Result<()> {
    let name = entry.file_name().unwrap_or_default().to_string_lossy();
    let Some((name, rest)) = name.split_once(SEEN) else {
        return Ok(());
    };
    let nanos = rest
        .split_once('-')
        .and_then(|(nanos, _)| nanos.parse().ok());
    let (Some(trash), Some(nanos)) = (entry.parent(), nanos) else {
        return Ok(());
    };
    let (quarantine, looked_at) = (quarantine_beside(trash), Moment::from_nanos(nanos));
    let mut room = None;
    for _ in 0..ROUNDS {
        match keep_late(entry, looked_at, &mut room, || {
            quarantine.make_room(name, entry, LATE)
        }) {
            Ok(0) => return Ok(()),
            // A save that was begun in the workspace comes to its end here, under another name.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(_) => {}
            Err(error) => return Err(error),
        }
        // A program that was at work there has a moment to end.
        thread::sleep(PAUSE);
    }
    Err(io::Error::other("a program keeps writing into it"))
}

/// One look through `entry`. Returns how many files were kept.
fn keep_late(
    entry: &Path,
    looked_at: Moment,
    room: &mut Option<PathBuf>,
    make_room: impl FnOnce() -> io::Result<PathBuf>,
) -> io::Result<usize> {
    let mut late = Vec::new();
    find_late(entry, Path::new(""), looked_at, &mut late)?;
    if late.is_empty() {
        return Ok(0);
    }
    let room = match room {
        Some(room) => room,
        None => room.insert(make_room()?),
    };
    for path in &late {
        let mut to = room.join("files").join(path);
        // Written once more under the same name: both are kept.
        if fs::symlink_metadata(&to).is_ok() {
            to = room.join(Uuid::now_v7().to_string()).join(path);
        }
        fs::create_dir_all(to.parent().unwrap_or(room))?;
        fs::rename(entry.join(path), to)?;
    }
    tracing::warn!(files = late.len(), room = %room.display(), "kept: written while the rest was being discarded");
    Ok(late.len())
}

fn find_late(
    root: &Path,
    dir: &Path,
    looked_at: Moment,
    late: &mut Vec<PathBuf>,
) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(dir)) {
        // What cannot be listed could not be looked at before either.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let path = dir.join(entry.file_name());
        let meta = entry.metadata()?;
        if meta.is_dir() {
            find_late(root, &path, looked_at, late)?;
        } else if looked_at.is_before_change(&meta) {
            late.push(path);
        }
    }
    Ok(())
}

/// A git that outlived its daemon may still be putting files into a directory that was taken from it.
fn delete_patiently(path: &Path) -> io::Result<()> {
    for _ in 0..ATTEMPTS {
        match delete(path) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => thread::sleep(PAUSE),
            done => return done,
        }
    }
    delete(path)
}

/// What is mounted in a directory would go with it to be moved, and then be deleted.
fn refuse_mounts(path: &Path) -> io::Result<()> {
    let Some(place) = mounted_in(path)? else {
        return Ok(());
    };
    let why = format!("a file system is mounted at {}", place.display());
    Err(io::Error::new(io::ErrorKind::ResourceBusy, why))
}

fn delete(path: &Path) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.is_dir() {
        return fs::remove_file(path);
    }
    refuse_mounts(path)?;
    match fs::remove_dir_all(path) {
        // Some tools write-protect the directories of their caches.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        done => done,
    }
}

fn rename_protected(path: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::symlink_metadata(path)?;
    if !meta.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    fs::rename(path, to).inspect_err(|_| {
        // It stays, and so do its permissions.
        let _ = fs::set_permissions(path, meta.permissions());
    })
}

fn open_up(dir: &Path) -> io::Result<()> {
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            open_up(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};

    use super::*;

    /// As for any user but root, whom no permission keeps out.
    fn be_nobody_special() {
        let none = CapabilitySet::empty();
        let sets = CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        };
        set_capabilities(None, sets).unwrap();
    }

    #[test]
    fn a_directory_that_is_closed_to_writing_goes_like_any_other() {
        be_nobody_special();
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("trash");
        let trash = Trash::open(dir.clone(), &Loops::default()).unwrap();
        let cache = home.path().join("cache");
        fs::create_dir_all(cache.join("module")).unwrap();
        fs::write(cache.join("module/file"), "x").unwrap();
        for closed in [cache.join("module"), cache.clone()] {
            fs::set_permissions(closed, fs::Permissions::from_mode(0o555)).unwrap();
        }
        trash.take(&cache, &"cache").unwrap();
        assert!(!cache.exists());
        assert!(trash.wait(Duration::from_secs(10)));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    }

    #[test]
    fn what_was_written_after_the_look_is_kept() {
        let home = tempfile::tempdir().unwrap();
        let trash = Trash::open(home.path().join("trash"), &Loops::default()).unwrap();
        let (dir, file) = (home.path().join("dir"), home.path().join("file"));
        fs::create_dir_all(dir.join("deep")).unwrap();
        let mut written = Moment::EPOCH;
        for early in [dir.join("early"), dir.join("deep/early"), file.clone()] {
            fs::write(&early, "early").unwrap();
            written = written.max(Moment::of_write(&fs::metadata(early).unwrap()));
        }
        // Files may be stamped more finely than the clock goes on.
        while Moment::now() <= written {
            thread::yield_now();
        }
        let looked_at = Moment::now();
        let untouched = home.path().join("untouched");
        fs::rename(&file, &untouched).unwrap();
        fs::write(dir.join("deep/late"), "late").unwrap();
        fs::write(dir.join("early"), "changed").unwrap();
        fs::write(&file, "late, too").unwrap();
        for path in [&dir, &file, &untouched] {
            trash.take_seen(path, &"some", looked_at).unwrap();
            assert!(!path.exists());
        }
        assert!(trash.wait(Duration::from_secs(10)));
        assert_eq!(fs::read_dir(home.path().join("trash")).unwrap().count(), 0);
        let quarantine = quarantine_beside(&home.path().join("trash"));
        let mut kept = Vec::new();
        for (room, note) in quarantine.contents().unwrap() {
            assert_eq!(note.unwrap().why, LATE);
            let mut pending = vec![room];
            while let Some(dir) = pending.pop() {
                for entry in fs::read_dir(dir).unwrap().flatten() {
                    match entry.file_type().unwrap().is_dir() {
                        true => pending.push(entry.path()),
                        false => kept.push(fs::read_to_string(entry.path()).unwrap()),
                    }
                }
            }
        }
        kept.retain(|text| !text.starts_with('{'));
        kept.sort();
        // One that was only moved is not known to be unchanged.
        assert_eq!(kept, ["changed", "early", "late", "late, too"]);
    }

    #[test]
    fn what_is_taken_is_gone_at_once_and_deleted_soon_also_what_an_earlier_daemon_left() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("trash");
        fs::create_dir_all(dir.join("left/over")).unwrap();
        let trash = Trash::open(dir.clone(), &Loops::default()).unwrap();
        let protected = home.path().join("protected");
        fs::create_dir_all(protected.join("inner")).unwrap();
        fs::write(protected.join("inner/file"), "x").unwrap();
        fs::set_permissions(protected.join("inner"), fs::Permissions::from_mode(0o500)).unwrap();
        let file = home.path().join("file");
        fs::write(&file, "x").unwrap();
        for path in [&protected, &file] {
            trash.take(path, &"some").unwrap();
            assert!(!path.exists());
        }
        assert!(trash.wait(Duration::from_secs(10)));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
        fs::remove_dir_all(&dir).unwrap();
        fs::write(&file, "x").unwrap();
        trash.take(&file, &"again").unwrap();
        assert!(trash.wait(Duration::from_secs(10)));
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    }
}
