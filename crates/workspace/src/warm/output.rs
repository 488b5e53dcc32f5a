//! What builds made in a sibling, as far as it is of use elsewhere. What is somebody's never leaves its place.
//!
//! A file is copied only if `build_output` names it, or if the ignore rules of both commits cover it and it was
//! born while a run was at work. A file that git would show is work, whenever it was born: an agent may write
//! a source file while its own build runs. Such a sibling is not copied from at all, because its output may be
//! made of that file.

use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use super::naming::Home;
use super::sources::{ARCHIVE_BEGIN, Sources, is_archive, is_in_packages, is_of_one_source};
use super::tracked::Fault;
use crate::build_output::BuildOutputNotes;
use crate::included::IncludedFiles;
use crate::{Error, Workspace};
use branchyard_git::verbs::secretive::is_named_as_secret;
use branchyard_git::{
    self as git, CommittedIgnores, Difference, Moment, ObjectId, Repository, Submodule,
    UntrackedEntry, UntrackedKind,
};
use branchyard_runtime::disk::Amount;

/// More than this takes longer to copy than most of it takes to make.
const MOST: u64 = 8 << 30;
const BLOCK: u64 = 4096;

/// Python's environments, which name their place all over.
const ENVIRONMENTS: [&str; 2] = [".venv", "pyvenv.cfg"];
/// Directories that were configured for their place: always, or if one of these names it.
const CONFIGURED: &str = "CMakeCache.txt";
const MAYBE_CONFIGURED: [&str; 2] = ["build.ninja", ".ninja_deps"];
/// A longer one is taken to name its place.
const CONFIGURED_SIZE: u64 = 64 << 20;
/// Cargo knows itself what it built where.
const CARGO: &str = ".rustc_info.json";
/// What it keeps for one place alone.
const CARGO_INCREMENTAL: &str = "incremental";
/// The caches of many tools keep themselves out of git by such a file, which says `*`.
const OWN_RULES: &str = ".gitignore";
const OWN_RULES_SIZE: u64 = 4096;

#[derive(Debug, Default)]
pub(super) struct WarmOutput {
    pub(super) files: Vec<OutputFile>,
    /// Directories that nothing tracked is in, parents first.
    pub(super) dirs: Vec<PathBuf>,
    pub(super) bytes: u64,
    /// Files that may be made of what is not there.
    pub(super) left_behind: Vec<PathBuf>,
}

#[derive(Debug, Clone)]
pub(super) struct OutputFile {
    pub(super) path: PathBuf,
    pub(super) modified: (i64, i64),
    pub(super) size: u64,
    pub(super) mode: u32,
    pub(super) is_link: bool,
    /// Whether a file that names its place is of no use elsewhere.
    pub(super) is_bound: bool,
}

impl WarmOutput {
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
        wanted: &Wanted<'_>,
        now: Moment,
    ) -> Result<Result<Self, Fault>, Error> {
        let difference = wanted.difference;
        let mut gathering = Gathering {
            workspace,
            here: CommittedIgnores::of(repo, wanted.from)?,
            there: CommittedIgnores::of(repo, wanted.goal)?,
            made: BuildOutputNotes::load(workspace.worktree().admin()),
            included: IncludedFiles::of(workspace)?,
            home: Home::new(workspace.repo().home()),
            way: Way::of(difference),
            sources: wanted.sources,
            now,
            found: Self::default(),
            left_out: false,
            fault: None,
        };
        let mut untracked = git::untracked_entries(repo)?;
        // A new workspace has its own.
        let submodules = Submodule::all(workspace.worktree())?;
        untracked.retain(|item| submodules.iter().all(|own| own.path() != item.path));
        if wanted.is_strict && !gathering.is_made_by_runs(&untracked)? {
            return Ok(Err("it has files that no run made"));
        }
        for item in untracked {
            if !gathering.way.is_below(&item.path) && !is_set_up(workspace, &item.path) {
                gathering.sort(item, Inherited::default())?;
            }
            if let Some(fault) = gathering.fault {
                return Ok(Err(fault));
            }
        }
        let mut found = gathering.found;
        let root = workspace.path();
        let has_left = gathering.left_out || !found.left_behind.is_empty();
        if has_left || wanted.sources.lack_any() || has_archive(&found.files, root) {
            found = of_one_source(found);
        }
        if found.bytes > MOST {
            found = Self::default();
        }
        Ok(Ok(found))
    }
}

impl OutputFile {
    /// Whether it is of use only together with all the rest: Cargo and those who install packages keep account of what
    /// is theirs, and what is made of one source can be judged by itself.
    pub(super) fn is_judged(&self) -> bool {
        self.is_bound && !is_in_packages(&self.path) && !is_of_one_source(&self.path)
    }
}

/// Whether there is a static library among them.
fn has_archive(files: &[OutputFile], root: &Path) -> bool {
    files.iter().any(|file| {
        let begin = || begin(&root.join(&file.path), ARCHIVE_BEGIN);
        file.is_judged() && !file.is_link && begin().is_some_and(|begin| is_archive(&begin))
    })
}

/// Without what is of use only together with the rest, and without the directories that then have nothing in them: a tool
/// could take one for what it made.
fn of_one_source(all: WarmOutput) -> WarmOutput {
    let (mut files, mut dirs, mut left_behind) = (all.files, all.dirs, all.left_behind);
    let goes = files.iter().filter(|file| file.is_judged());
    left_behind.extend(goes.map(|file| file.path.clone()));
    files.retain(|file| !file.is_judged());
    let used: HashSet<_> = files
        .iter()
        .flat_map(|file| file.path.ancestors().skip(1))
        .collect();
    dirs.retain(|dir| used.contains(dir.as_path()));
    let bytes = files.iter().map(|file| file.size).sum();
    WarmOutput {
        files,
        dirs,
        bytes,
        left_behind,
    }
}

/// What the copy is made for.
pub(super) struct Wanted<'a> {
    /// The commit that the sibling is at.
    pub(super) from: ObjectId,
    /// The commit that the new workspace is going to be at.
    pub(super) goal: ObjectId,
    pub(super) difference: &'a Difference,
    /// The files of that commit.
    pub(super) sources: &'a Sources,
    /// Whether runs must account for everything that lies beside the tracked files.
    pub(super) is_strict: bool,
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
    is_ignored_here: bool,
    is_ignored_there: bool,
    is_cargo: bool,
}

struct Gathering<'a> {
    workspace: &'a Workspace,
    /// The ignore rules of the sibling's commit.
    here: CommittedIgnores<'a>,
    /// Those of the commit that the new workspace is going to be at.
    there: CommittedIgnores<'a>,
    made: BuildOutputNotes,
    /// What is for the builds of the sibling's branch alone.
    included: IncludedFiles,
    home: Home,
    way: Way,
    sources: &'a Sources,
    now: Moment,
    found: WarmOutput,
    /// Something else stays behind that a stamp may stand for.
    left_out: bool,
    fault: Option<Fault>,
}

impl Gathering<'_> {
    /// Whether runs account for every file. A repository may have been changed in ways that its files do not
    /// tell.
    fn is_made_by_runs(&self, untracked: &[UntrackedEntry]) -> Result<bool, Error> {
        for item in untracked {
            let is_made = match item.kind {
                UntrackedKind::File => self.made.explains(&item.path, &item.meta),
                UntrackedKind::Repository => false,
                UntrackedKind::Directory => {
                    self.is_made_by_runs(&git::untracked_in(self.workspace.path(), &item.path)?)?
                }
            };
            if !is_made {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn sort(&mut self, item: UntrackedEntry, mut known: Inherited) -> Result<(), Error> {
        let (path, is_dir) = (&item.path, item.kind != UntrackedKind::File);
        let globs = &self.workspace.repo().config().build_output;
        known.is_declared = known.is_declared || globs.matches(path);
        known.is_ignored_here = known.is_ignored_here || self.here.is_ignored(path, is_dir)?;
        known.is_ignored_there = known.is_ignored_there || self.there.is_ignored(path, is_dir)?;
        let is_made = self.made.explains(path, &item.meta);
        let is_ignored = known.is_ignored_here && known.is_ignored_there;
        if !is_dir && self.included.covers(path) {
            return Ok(());
        }
        let is_output =
            known.is_declared || is_ignored && is_made && (is_dir || !is_named_as_secret(path));
        match item.kind {
            UntrackedKind::Directory => return self.directory(&item, is_output, known),
            UntrackedKind::File if is_output => self.take(item, known),
            // A repository has a state of its own, which is not for us to judge.
            UntrackedKind::Repository if is_output => self.left_out = true,
            _ if known.is_declared || known.is_ignored_here => {}
            // Not only git's business: what was built beside it may well be made of it.
            _ => self.fault = Some("it has files that are not committed"),
        }
        Ok(())
    }

    fn directory(
        &mut self,
        item: &UntrackedEntry,
        is_output: bool,
        mut known: Inherited,
    ) -> Result<(), Error> {
        if self.way.has(&item.path, true) {
            return Ok(());
        }
        if self.is_bound_to_place(&item.path, known) {
            self.left_out |= is_output && !known.is_cargo;
            return Ok(());
        }
        let is_shown = !known.is_declared && !known.is_ignored_here;
        if is_shown && self.ignores_itself(&item.path) {
            return Ok(());
        }
        let place = self.workspace.path().join(&item.path);
        known.is_cargo = known.is_cargo || place.join(CARGO).is_file();
        let (dirs, files) = (self.found.dirs.len(), self.found.files.len());
        self.found.dirs.push(item.path.clone());
        for inner in git::untracked_in(self.workspace.path(), &item.path)? {
            if is_set_up(self.workspace, &inner.path) {
                continue;
            }
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

    /// Whether a directory that git does not track has rules of its own that keep all of it out of git.
    fn ignores_itself(&self, dir: &Path) -> bool {
        let rules = self.workspace.path().join(dir).join(OWN_RULES);
        let Ok(Some(text)) = git::read_plain(&rules, OWN_RULES_SIZE) else {
            return false;
        };
        let text = String::from_utf8_lossy(&text);
        let mut rules = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        rules.next() == Some("*") && rules.next().is_none()
    }

    /// Whether all of a directory is of use where it is and nowhere else.
    fn is_bound_to_place(&self, dir: &Path, known: Inherited) -> bool {
        if known.is_cargo {
            return dir.ends_with(CARGO_INCREMENTAL);
        }
        let place = self.workspace.path().join(dir);
        let [environment, its_mark] = ENVIRONMENTS;
        let mut marks = [its_mark, CONFIGURED].into_iter();
        if dir.file_name().is_some_and(|name| name == environment)
            || marks.any(|mark| place.join(mark).exists())
        {
            return true;
        }
        for mark in MAYBE_CONFIGURED {
            let mark = place.join(mark);
            if mark.symlink_metadata().is_err() {
                continue;
            }
            let content = git::read_plain(&mark, CONFIGURED_SIZE).ok().flatten();
            if content.is_none_or(|content| self.home.is_in(&content)) {
                return true;
            }
        }
        false
    }

    fn take(&mut self, item: UntrackedEntry, known: Inherited) {
        let UntrackedEntry { path, meta, .. } = item;
        if self.way.has(&path, false) || !(meta.is_file() || meta.is_symlink()) {
            return;
        }
        if !known.is_cargo && !is_in_packages(&path) && self.sources.outdate(&path) {
            self.found.left_behind.push(path);
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

/// Whether it is what a set-up makes, which is not taken from a sibling.
fn is_set_up(workspace: &Workspace, path: &Path) -> bool {
    let setup = workspace.repo().config().setup.as_ref();
    let mut outputs = setup.into_iter().flat_map(|setup| &setup.outputs);
    outputs.any(|output| Path::new(output.as_str()) == path)
}

/// How a regular file begins. A build may have put anything else at that place, such as a FIFO, which must not be waited
/// for.
fn begin(path: &Path, most: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?);
    let file = file.metadata().ok()?.is_file().then_some(file)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn is_later(meta: &Metadata, now: Moment) -> bool {
    (meta.mtime(), meta.mtime_nsec()) > (i64::from(now.0), i64::from(now.1))
}
