//! What builds made in a sibling, as far as it is of use elsewhere. What is somebody's never leaves its place.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use git2::Repository;

use super::naming::Home;
use super::tracked::Fault;
use crate::disk::Amount;
use crate::git::{self, Difference, Moment, Stray, StrayKind};
use crate::workspace::made::Made;
use crate::workspace::{Error, Workspace};

/// More than this takes longer to copy than most of it takes to make.
const MOST: u64 = 8 << 30;
const BLOCK: u64 = 4096;

/// Python's environments, which name their place all over.
const ENVIRONMENTS: [&str; 2] = [".venv", "pyvenv.cfg"];
/// Directories that were configured for their place: always, or if one of these names it.
const CONFIGURED: &str = "CMakeCache.txt";
const MAYBE_CONFIGURED: [&str; 2] = ["build.ninja", ".ninja_deps"];
/// Cargo knows itself what it built where.
const CARGO: &str = ".rustc_info.json";
/// What it keeps for one place alone.
const CARGO_INCREMENTAL: &str = "incremental";

#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) files: Vec<OutputFile>,
    /// Directories that nothing tracked is in, parents first.
    pub(super) dirs: Vec<PathBuf>,
    pub(super) bytes: u64,
}

#[derive(Debug)]
pub(super) struct OutputFile {
    pub(super) path: PathBuf,
    pub(super) modified: (i64, i64),
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) is_link: bool,
    /// Whether a file that names its place is of no use elsewhere.
    pub(super) is_bound: bool,
}

impl Output {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.dirs.is_empty()
    }

    /// What the copy takes.
    pub(super) fn need(&self) -> Amount {
        Amount {
            bytes: self.bytes + self.files.len() as u64 * BLOCK,
            inodes: (self.files.len() + self.dirs.len()) as u64,
        }
    }

    /// What was built in `workspace` and does not stand in the way of `difference`.
    pub(super) fn gather(
        workspace: &Workspace,
        repo: &Repository,
        difference: &Difference,
        now: Moment,
    ) -> Result<Result<Self, Fault>, Error> {
        let mut gathering = Gathering {
            workspace,
            repo,
            made: Made::load(workspace.worktree.admin()),
            home: Home::new(workspace.repo.home()),
            way: Way::of(difference),
            now,
            found: Self::default(),
            fault: None,
        };
        for stray in git::strays(repo)? {
            if !gathering.way.is_below(&stray.path) {
                gathering.sort(stray, Inherited::default())?;
            }
            if let Some(fault) = gathering.fault {
                return Ok(Err(fault));
            }
        }
        let mut found = gathering.found;
        if found.bytes > MOST {
            found = Self::default();
        }
        Ok(Ok(found))
    }
}

/// Where the difference will put files.
struct Way {
    files: HashSet<PathBuf>,
    dirs: HashSet<PathBuf>,
}

impl Way {
    fn of(difference: &Difference) -> Self {
        let path = |bytes: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
        let comes = difference.changes.iter().filter(|c| c.is.is_some());
        let files: HashSet<_> = comes.map(|change| path(&change.path)).collect();
        let dirs = files.iter().flat_map(|file| file.ancestors().skip(1));
        let dirs = dirs.map(Path::to_owned).collect();
        Self { files, dirs }
    }

    fn is_below(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|dir| self.files.contains(dir))
    }

    fn has(&self, path: &Path, is_dir: bool) -> bool {
        self.files.contains(path) || !is_dir && self.dirs.contains(path)
    }
}

/// What is known from the directory that something lies in.
#[derive(Debug, Default, Clone, Copy)]
struct Inherited {
    is_declared: bool,
    is_ignored: bool,
    is_cargo: bool,
}

struct Gathering<'a> {
    workspace: &'a Workspace,
    repo: &'a Repository,
    made: Made,
    home: Home,
    way: Way,
    now: Moment,
    found: Output,
    fault: Option<Fault>,
}

impl Gathering<'_> {
    fn sort(&mut self, stray: Stray, mut known: Inherited) -> Result<(), Error> {
        let globs = &self.workspace.repo.config.build_output;
        known.is_declared = known.is_declared || globs.matches(&stray.path);
        let is_output = known.is_declared || self.made.explains(&stray.path, &stray.meta);
        if !is_output && !known.is_ignored {
            let ignored = self.repo.is_path_ignored(&stray.path);
            known.is_ignored = ignored.map_err(git::Error::from)?;
        }
        match stray.kind {
            StrayKind::Directory => return self.directory(&stray, is_output, known),
            // A repository has a state of its own, which is not for us to judge.
            StrayKind::Repository if is_output => return Ok(()),
            _ if is_output => self.take(stray, known),
            // Not only git's business: what was built beside it may well be made of it.
            _ if !known.is_ignored => self.fault = Some("it has files that are not committed"),
            _ => {}
        }
        Ok(())
    }

    fn directory(
        &mut self,
        stray: &Stray,
        is_output: bool,
        mut known: Inherited,
    ) -> Result<(), Error> {
        if self.way.has(&stray.path, true) || self.is_bound_to_place(&stray.path, known)? {
            return Ok(());
        }
        let place = self.workspace.path().join(&stray.path);
        known.is_cargo = known.is_cargo || place.join(CARGO).is_file();
        let (dirs, files) = (self.found.dirs.len(), self.found.files.len());
        self.found.dirs.push(stray.path.clone());
        for inner in git::strays_in(self.workspace.path(), &stray.path)? {
            self.sort(inner, known)?;
            if self.fault.is_some() {
                return Ok(());
            }
        }
        // Of a directory that is somebody's only what a build put there is taken.
        if !is_output && self.found.files.len() == files {
            self.found.dirs.truncate(dirs);
        }
        Ok(())
    }

    /// Whether all of a directory is of use where it is and nowhere else.
    fn is_bound_to_place(&self, dir: &Path, known: Inherited) -> Result<bool, Error> {
        if known.is_cargo {
            return Ok(dir
                .file_name()
                .is_some_and(|name| name == CARGO_INCREMENTAL));
        }
        let place = self.workspace.path().join(dir);
        let [environment, its_mark] = ENVIRONMENTS;
        if dir.file_name().is_some_and(|name| name == environment)
            || [its_mark, CONFIGURED]
                .iter()
                .any(|mark| place.join(mark).exists())
        {
            return Ok(true);
        }
        for mark in MAYBE_CONFIGURED {
            match fs::read(place.join(mark)) {
                Ok(content) if self.home.is_in(&content) => return Ok(true),
                _ => {}
            }
        }
        Ok(false)
    }

    fn take(&mut self, stray: Stray, known: Inherited) {
        let Stray { path, meta, .. } = stray;
        if self.way.has(&path, false) || !(meta.is_file() || meta.is_symlink()) {
            return;
        }
        if is_later(&meta, self.now) {
            self.fault = Some("a file is from the future");
        }
        self.found.bytes += meta.len();
        self.found.files.push(OutputFile {
            path,
            modified: (meta.mtime(), meta.mtime_nsec()),
            size: meta.len(),
            mode: meta.mode(),
            is_link: meta.is_symlink(),
            is_bound: !known.is_cargo,
        });
    }
}

fn is_later(meta: &Metadata, now: Moment) -> bool {
    (meta.mtime(), meta.mtime_nsec()) > (i64::from(now.0), i64::from(now.1))
}
