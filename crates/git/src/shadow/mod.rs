//! A worktree's stand-in, for commands that replace files. Git looks at all files first and replaces them afterwards, by
//! name: whatever a person saved in between would be lost. So git works on a copy of the index and in an empty directory.
//! What it wrote there is put in the place of the worktree's files, and of those nothing is discarded that was written
//! meanwhile.
//!
//! In the copy git is told to assume that files are unchanged, so it does not miss them. One that did change has a
//! placeholder in the directory, which git finds changed, too. The index is locked all the time, as git itself would; a
//! lock that a killed daemon left is removed by [`settle`], which completes what git did.

mod take_over;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use git2::ErrorCode;
use rustix::fs::{AtFlags, CWD, Stat, Timestamps, utimensat};
use uuid::Uuid;

use super::file_comparer::FileComparer;
use super::status::overlooked_changes;
use super::verbs::conflicts::Working;
use super::worktree::open_at;
use super::{Error, IndexFile, IndexedFile, files_of, suspects};
use branchyard_runtime::disk::{Moment, Trash, if_there};

const NAME: &str = "shadow";

/// In the administrative directory of its worktree, as `shadow`.
#[derive(Debug)]
pub(super) struct Shadow {
    worktree: PathBuf,
    admin: PathBuf,
}

/// Whether git came to its end, with success or at conflicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    /// Files that it put beside the tracked ones may be cut short.
    Failed,
}

impl Shadow {
    /// Locks the index of the worktree at `dir`. What was written since its files were `seen` is never discarded, whatever
    /// git makes of it. `None` where git has to work in the worktree itself: files of it cannot be
    /// moved to the trash, or its index is of a kind that is not handled here.
    pub(crate) fn begin(dir: &Path, seen: Moment, trash: &Trash) -> Result<Option<Self>, Error> {
        let admin = open_at(dir)?.path().to_owned();
        let admin = admin.canonicalize().map_err(Error::io("find a worktree"))?;
        if admin.join("info/sparse-checkout").exists() {
            return Ok(None);
        }
        if let Err(why) = trash.check(dir) {
            tracing::debug!(worktree = %dir.display(), %why, "git replaces files in the worktree itself");
            return Ok(None);
        }
        let shadow = Self {
            worktree: dir.to_owned(),
            admin,
        };
        shadow.lock()?;
        match shadow.prepare(seen) {
            Ok(true) => Ok(Some(shadow)),
            Ok(false) => shadow.end(trash).map(|()| None),
            Err(error) => {
                shadow.end(trash)?;
                Err(error)
            }
        }
    }

    pub(crate) fn environment(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("GIT_DIR", self.admin.clone()),
            ("GIT_WORK_TREE", self.files()),
            ("GIT_INDEX_FILE", self.index()),
        ]
    }

    fn dir(&self) -> PathBuf {
        self.admin.join(NAME)
    }

    fn files(&self) -> PathBuf {
        self.dir().join("files")
    }

    fn index(&self) -> PathBuf {
        self.dir().join("index")
    }

    /// Is there from the beginning, and was last written when the worktree's files were seen.
    fn seen(&self) -> PathBuf {
        self.dir().join("begun")
    }

    /// Is there once all files are out of the way.
    fn cleared(&self) -> PathBuf {
        self.dir().join("cleared")
    }

    fn lock(&self) -> Result<(), Error> {
        match fs::File::create_new(self.admin.join("index.lock")) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let why = "the index is locked: another git command is at work here";
                let class = git2::ErrorClass::Index;
                Err(git2::Error::new(ErrorCode::Locked, class, why).into())
            }
            Err(error) => Err(Error::io("lock the index")(error)),
        }
    }

    /// Whether the index is of a kind that is handled here.
    fn prepare(&self, seen: Moment) -> Result<bool, Error> {
        let failed = Error::io("prepare a stand-in for the worktree");
        let made = || -> io::Result<Option<IndexFile>> {
            if_there(fs::remove_dir_all(self.dir()))?;
            fs::create_dir_all(self.files())?;
            fs::write(self.seen(), "")?;
            set_written(&self.seen(), seen)?;
            IndexFile::read_any(&self.admin.join("index"))
        };
        let Some(index) = made().map_err(failed)? else {
            return Ok(false);
        };
        let changed = self.changed()?;
        let files = Working::open(&self.files())?;
        for path in &changed {
            self.put_placeholder(&files, path)
                .map_err(Error::io("tell git that a file is changed"))?;
        }
        let is_assumed =
            |entry: &IndexedFile| entry.is_assumed() || !changed.contains(path_of(&index, entry));
        index
            .write_assuming(&self.index(), is_assumed, |_| None)
            .map_err(Error::io("copy the index"))?;
        Ok(true)
    }

    /// The tracked files that are not as the index has them.
    fn changed(&self) -> Result<BTreeSet<PathBuf>, Error> {
        let repo = open_at(&self.worktree)?;
        let mut changed = BTreeSet::new();
        if let Some(comparer) = FileComparer::new(&repo)? {
            for (mode, id, path) in suspects(&repo)? {
                if comparer.change(mode, id, &path)?.is_some() {
                    changed.insert(path);
                }
            }
        }
        let index = repo.git2().index()?;
        let overlooked = overlooked_changes(&index, &self.worktree);
        changed.extend(overlooked.map(|entry| PathBuf::from(OsStr::from_bytes(&entry.path))));
        Ok(changed)
    }

    /// Where a file was deleted there is none to put.
    fn put_placeholder(&self, files: &Working, path: &Path) -> io::Result<()> {
        let is_there = fs::symlink_metadata(self.worktree.join(path)).is_ok();
        if !is_there {
            return Ok(());
        }
        files
            .write(path, Uuid::now_v7().as_bytes(), false)
            .map_err(io::Error::other)?;
        set_written(&self.files().join(path), Moment::EPOCH)
    }

    fn end(&self, trash: &Trash) -> Result<(), Error> {
        let ended = || {
            if_there(trash.take(&self.dir(), &NAME))?;
            if_there(fs::remove_file(self.admin.join("index.lock")))
        };
        ended().map(drop).map_err(Error::io("unlock the index"))
    }
}

/// Completes what a git did whose daemon is gone, if `lock` was its lock. No process may be at work there any more.
pub(super) fn settle(lock: &Path, trash: &Trash) -> Result<(), Error> {
    let Some(admin) = lock.parent().filter(|_| lock.ends_with("index.lock")) else {
        return Ok(());
    };
    let shadow = Shadow {
        worktree: PathBuf::new(),
        admin: admin.to_owned(),
    };
    // A build may have put a link there, which could lead anywhere.
    let is_own = fs::symlink_metadata(shadow.dir()).is_ok_and(|found| found.is_dir());
    if !is_own || !shadow.seen().exists() {
        return Ok(());
    }
    let Some(worktree) = files_of(&crate::Repository::open_bare(admin)?) else {
        return Ok(());
    };
    tracing::info!(worktree = %worktree.display(), "what git wrote for a daemon that is gone is taken over");
    Shadow { worktree, ..shadow }.take_over(trash, Ending::Complete)
}

fn set_written(path: &Path, at: Moment) -> io::Result<()> {
    let times = Timestamps {
        last_access: at.timespec(),
        last_modification: at.timespec(),
    };
    Ok(utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Git never writes a file at that time.
fn is_placeholder(stat: &Stat) -> bool {
    stat.st_mtime == 0
}

fn path_of<'i>(index: &'i IndexFile, entry: &IndexedFile) -> &'i Path {
    Path::new(OsStr::from_bytes(index.path(entry)))
}
