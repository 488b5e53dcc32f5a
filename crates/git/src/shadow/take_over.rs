//! What git wrote in a worktree's stand-in takes the place of the worktree's files. Each step can be done again, so that
//! one that was cut off is completed by the next daemon.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

use super::{Ending, Shadow, is_placeholder, path_of};
use crate::verbs::conflicts::Working;
use crate::{Error, FileStat, GITLINK, IndexFile, IndexedFile};
use branchyard_config::crash_point;
use branchyard_runtime::disk::{Moment, Trash, if_there};

impl Shadow {
    /// Puts what git wrote in the place of the worktree's files, and unlocks the index. Whatever was there and was written
    /// meanwhile is moved to the quarantine.
    pub(crate) fn take_over(self, trash: &Trash, ending: Ending) -> Result<(), Error> {
        crash_point("shadow-written");
        let indexes = IndexFile::read_any(&self.admin.join("index"))
            .and_then(|old| Ok(old.zip(IndexFile::read_any(&self.index())?)))
            .map_err(Error::io("read the index"))?;
        // With a lock of its own left behind, git was killed in the middle.
        let is_whole = !self.index().with_extension("lock").exists();
        let Some((old, new)) = indexes.filter(|_| is_whole) else {
            return self.end(trash);
        };
        let written = Working::open(&self.files())?;
        let mut touched = self.touched(&old, &new, ending)?;
        if touched.is_empty() {
            return self.end(trash);
        }
        let left = Self::left_alone(&touched, &old, &new, &written)?;
        touched.retain(|path| !left.contains(path));
        if !self.cleared().exists() {
            self.clear(&touched, &old, trash)?;
            fs::write(self.cleared(), "").map_err(Error::io("note how far git's files are"))?;
        }
        crash_point("shadow-cleared");
        let placed = self.place(&touched, &new, &written, trash)?;
        crash_point("shadow-placed");
        self.install(&old, &new, &placed)?;
        self.end(trash)
    }

    /// The paths at which git wrote or removed something, or whose entries it made anew.
    fn touched(
        &self,
        old: &IndexFile,
        new: &IndexFile,
        ending: Ending,
    ) -> Result<BTreeSet<PathBuf>, Error> {
        let mut touched = BTreeSet::new();
        for entry in new.entries() {
            if !(entry.is_merged() && entry.is_assumed() && is_as_before(entry, new, old)) {
                touched.insert(path_of(new, entry).to_owned());
            }
        }
        for entry in old.entries() {
            if new.find(old.path(entry)).is_none() {
                touched.insert(path_of(old, entry).to_owned());
            }
        }
        if ending == Ending::Complete || new.entries().iter().any(|entry| !entry.is_merged()) {
            self.beside(new, Path::new(""), &mut touched)
                .map_err(Error::io("see what git wrote"))?;
        }
        Ok(touched)
    }

    /// Those of the paths whose files git left as they are.
    fn left_alone(
        touched: &BTreeSet<PathBuf>,
        old: &IndexFile,
        new: &IndexFile,
        written: &Working,
    ) -> Result<BTreeSet<PathBuf>, Error> {
        // In a conflict that may be ours, of what is no text for example.
        let ours = new.entries().iter();
        let ours = ours.filter(|entry| entry.is_ours() && is_as_before(entry, new, old));
        let ours: BTreeSet<_> = ours.map(|entry| path_of(new, entry)).collect();
        let mut left = BTreeSet::new();
        for path in touched {
            let is_left = match stat(written, path)? {
                Some(found) => is_placeholder(&found),
                None => ours.contains(path.as_path()),
            };
            if is_left {
                left.insert(path.clone());
            }
        }
        Ok(left)
    }

    /// What git put beside the tracked files: those of a stash that were not tracked.
    fn beside(
        &self,
        index: &IndexFile,
        dir: &Path,
        found: &mut BTreeSet<PathBuf>,
    ) -> io::Result<()> {
        for entry in fs::read_dir(self.files().join(dir))? {
            let entry = entry?;
            let path = dir.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                self.beside(index, &path, found)?;
            } else if index.find(path.as_os_str().as_bytes()).is_none() {
                found.insert(path);
            }
        }
        Ok(())
    }

    /// Takes away what is at these paths. What is in a directory goes first, so that the directory may go as well.
    fn clear(
        &self,
        touched: &BTreeSet<PathBuf>,
        old: &IndexFile,
        trash: &Trash,
    ) -> Result<(), Error> {
        let written = |path: PathBuf| {
            let meta = fs::metadata(path).map_err(Error::io("see when git began"))?;
            Ok::<_, Error>(Moment::of_write(&meta))
        };
        // What was staged since may have been no tracked file when those were saved.
        let seen = match written(self.seen())? {
            seen if written(self.admin.join("index"))? > seen => Moment::EPOCH,
            seen => seen,
        };
        let files = Working::open(&self.worktree)?;
        for path in touched.iter().rev() {
            let Some(found) = stat(&files, path)? else {
                continue;
            };
            let known = old.find(path.as_os_str().as_bytes());
            let is_dir = FileType::from_raw_mode(found.st_mode).is_dir();
            // Git leaves a submodule's directory with anything in it alone.
            if is_dir && known.is_some_and(|known| known.mode() == GITLINK) {
                let _ = fs::remove_dir(self.worktree.join(path));
                continue;
            }
            // What was not tracked, git knows nothing of.
            let since = match known {
                Some(_) if !is_dir => seen,
                _ => Moment::EPOCH,
            };
            self.discard(trash, &self.worktree.join(path), since)?;
            files.remove_empty_above(path);
        }
        Ok(())
    }

    /// Moves the files that git wrote to where they belong; those that are there then as the new index says, and what they are.
    fn place<'p>(
        &self,
        touched: &'p BTreeSet<PathBuf>,
        new: &IndexFile,
        written: &Working,
        trash: &Trash,
    ) -> Result<Vec<(&'p Path, FileStat)>, Error> {
        let files = Working::open(&self.worktree)?;
        let mut placed = Vec::new();
        for path in touched {
            let entry = new.find(path.as_os_str().as_bytes());
            if entry.is_some_and(|entry| entry.mode() == GITLINK) {
                // Git does no more than to warn where it cannot.
                let made = files.make_dir(path);
                made.map_err(Error::io("make a submodule's directory"))?;
                continue;
            }
            let Some(found) = stat(written, path)? else {
                continue;
            };
            let taken = files.take_in(written, path);
            if !taken.map_err(Error::io("put a file into the worktree"))? {
                // A person was faster. Theirs stays, and git's version is kept, too.
                self.discard(trash, &self.files().join(path), Moment::EPOCH)?;
                continue;
            }
            // To be moved changes a file's times, which git would take for a change.
            if entry.is_some_and(|entry| new.stat(entry) == FileStat::of(&found))
                && let Some(now) = stat(&files, path)?
                && now.st_ino == found.st_ino
            {
                placed.push((path.as_path(), FileStat::of(&now)));
            }
        }
        Ok(placed)
    }

    fn install(
        &self,
        old: &IndexFile,
        new: &IndexFile,
        placed: &[(&Path, FileStat)],
    ) -> Result<(), Error> {
        let is_assumed = |entry: &IndexedFile| {
            let known = old.find(new.path(entry));
            entry.is_assumed() && known.is_some_and(IndexedFile::is_assumed)
        };
        let stat_of = |entry: &IndexedFile| {
            let found = placed.binary_search_by(|(path, _)| path.cmp(&path_of(new, entry)));
            found.ok().map(|at| placed[at].1)
        };
        let file = self.dir().join("installed");
        new.write_assuming(&file, is_assumed, stat_of)
            .and_then(|()| fs::rename(&file, self.admin.join("index")))
            .map_err(Error::io("write the index"))
    }

    fn discard(&self, trash: &Trash, path: &Path, since: Moment) -> Result<(), Error> {
        let name = self.worktree.file_name().unwrap_or_default();
        let taken = if_there(trash.take_seen(path, &name.display(), since));
        taken
            .map(drop)
            .map_err(Error::io("move a file to the trash"))
    }
}

/// Whether an entry of `new` says what `old` said of its path.
fn is_as_before(entry: &IndexedFile, new: &IndexFile, old: &IndexFile) -> bool {
    old.find(new.path(entry)).is_some_and(|known| {
        known.is_merged() && known.mode() == entry.mode() && old.id(known) == new.id(entry)
    })
}

fn stat(files: &Working, path: &Path) -> Result<Option<Stat>, Error> {
    files.stat(path).map_err(Error::io("look at a file"))
}
