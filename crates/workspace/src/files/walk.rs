//! A walk through the files beneath a directory, in the order of their paths.
//!
//! The kernel resolves every step beneath that directory and follows no symlink, and what `.gitignore` is
//! read as rules is a regular file of bearable size. So a tree that changes meanwhile, or that was made to
//! do harm, costs a few files of the answer at most. The ready-made walk of `ignore` opens by name
//! whatever is called `.gitignore`, and would wait for a pipe or read a device.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::Gitignore;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, openat2, statat};
use rustix::io::Errno;

use super::regular::open_lined;
use crate::file_copy::or_dot;
use crate::included::IncludedFiles;
use branchyard_git::{MAX_RULES, parse_rules};

const IGNORE: &str = ".gitignore";
/// Of a directory with more names the rest is passed over, for all of them have to be sorted.
const MAX_NAMES: usize = 100_000;

#[derive(Debug)]
pub(super) struct Walk {
    start: OwnedFd,
    /// Where `start` is in the workspace.
    base: PathBuf,
    /// Rules from above `start`, the outermost first.
    above: Vec<Rules>,
    levels: Vec<Level>,
    /// What comes before this path was looked at by an earlier walk.
    from: Option<PathBuf>,
    /// Bytes of rules in force.
    heeded: usize,
    /// What could not be looked at.
    skipped: usize,
    /// What is not to be read.
    included: IncludedFiles,
}

#[derive(Debug)]
struct Level {
    /// Beneath `start`.
    dir: PathBuf,
    /// What is still to come, the last first.
    names: Vec<(OsString, IsDir)>,
    rules: Option<Rules>,
}

#[derive(Debug)]
struct Rules {
    gitignore: Gitignore,
    size: usize,
}

/// Whether a name is that of a directory; else it is a file's.
type IsDir = bool;

/// One step of a walk, with its path in the workspace. Whoever walks can stop in a tree without files too,
/// or full of ignored ones.
#[derive(Debug)]
pub(super) enum WalkStep {
    Entered(PathBuf),
    File(PathBuf),
    Ignored,
}

impl Walk {
    /// Through `start`, which is at `base` of the workspace `root`.
    pub(super) fn new(
        root: &OwnedFd,
        start: OwnedFd,
        base: PathBuf,
        from: Option<PathBuf>,
        included: IncludedFiles,
    ) -> Self {
        let mut walk = Self {
            start,
            above: Vec::new(),
            levels: Vec::new(),
            from,
            heeded: 0,
            skipped: 0,
            included,
            base,
        };
        let above: Vec<_> = walk.base.ancestors().skip(1).map(Path::to_owned).collect();
        for dir in above.iter().rev() {
            let rules = rules(root, &dir.join(IGNORE), dir, MAX_RULES - walk.heeded);
            walk.heeded += size_of(rules.as_ref());
            walk.above.extend(rules);
        }
        walk.enter(PathBuf::new());
        walk
    }

    pub(super) fn step(&mut self) -> Option<WalkStep> {
        loop {
            let level = self.levels.last_mut()?;
            let Some((name, is_dir)) = level.names.pop() else {
                let rules = self.levels.pop().and_then(|level| level.rules);
                self.heeded -= size_of(rules.as_ref());
                continue;
            };
            let beneath = level.dir.join(name);
            let path = self.base.join(&beneath);
            if self.is_past(&path) {
                continue;
            }
            if self.is_ignored(&path, is_dir) {
                return Some(WalkStep::Ignored);
            }
            if !is_dir {
                return Some(WalkStep::File(path));
            }
            self.enter(beneath);
            return Some(WalkStep::Entered(path));
        }
    }

    /// Opens a file that the walk came to; `None` if it may not be read, or is none any more.
    pub(super) fn open(&mut self, path: &Path) -> Option<File> {
        let beneath = path.strip_prefix(&self.base).ok()?;
        let file = match open(&self.start, beneath, OFlags::PATH) {
            // Gone since it was listed, as happens beside a build.
            Err(Errno::NOENT) => return None,
            fd => fd
                .ok()
                .and_then(|fd| open_lined(&fd, path, &self.included).ok()),
        };
        self.skipped += usize::from(file.is_none());
        file
    }

    fn is_past(&self, path: &Path) -> bool {
        self.from
            .as_ref()
            .is_some_and(|from| path < from && !from.starts_with(path))
    }

    /// The innermost rule that says anything about it decides.
    fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        let inner = self.levels.iter().filter_map(|level| level.rules.as_ref());
        self.above
            .iter()
            .chain(inner)
            .rev()
            .map(|rules| rules.gitignore.matched(path, is_dir))
            .find(|found| !found.is_none())
            .is_some_and(|found| matches!(found, Match::Ignore(_)))
    }

    fn enter(&mut self, dir: PathBuf) {
        match self.names(&dir) {
            Ok(names) => {
                let (within, room) = (self.base.join(&dir), MAX_RULES - self.heeded);
                let rules = rules(&self.start, &dir.join(IGNORE), &within, room);
                self.heeded += size_of(rules.as_ref());
                self.levels.push(Level { dir, names, rules });
            }
            Err(Errno::NOENT) => {}
            Err(_) => self.skipped += 1,
        }
    }

    fn names(&mut self, dir: &Path) -> Result<Vec<(OsString, IsDir)>, Errno> {
        let fd = open(&self.start, dir, OFlags::RDONLY | OFlags::DIRECTORY)?;
        let mut names = Vec::new();
        for item in Dir::read_from(&fd)? {
            let item = item?;
            let name = OsStr::from_bytes(item.file_name().to_bytes());
            if name == "." || name == ".." || name == ".git" {
                continue;
            }
            if names.len() == MAX_NAMES {
                self.skipped += 1;
                break;
            }
            let mut kind = item.file_type();
            if kind == FileType::Unknown
                && let Ok(stat) = statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW)
            {
                kind = FileType::from_raw_mode(stat.st_mode);
            }
            // Neither a link nor anything that is no file has lines of its own.
            if kind.is_file() || kind.is_dir() {
                names.push((name.to_owned(), kind.is_dir()));
            }
        }
        names.sort_unstable_by(|a, b| b.cmp(a));
        Ok(names)
    }

    pub(super) fn skipped(&self) -> usize {
        self.skipped
    }
}

/// The rules in a `.gitignore`, for what is `within` its directory; none if they have more than `room`.
fn rules(dir: &OwnedFd, file: &Path, within: &Path, room: usize) -> Option<Rules> {
    let fd = open(dir, file, OFlags::PATH).ok()?;
    let file = open_lined(&fd, file, &IncludedFiles::default()).ok()?;
    let mut text = Vec::new();
    let size = file.take(room as u64 + 1).read_to_end(&mut text).ok()?;
    if size > room {
        return None;
    }
    let gitignore = parse_rules(&text, within)?;
    Some(Rules { gitignore, size })
}

fn size_of(rules: Option<&Rules>) -> usize {
    rules.map_or(0, |rules| rules.size)
}

/// Opens what is at `path` itself, reached through directories alone.
fn open(dir: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    openat2(dir, or_dot(path), flags, Mode::empty(), resolve)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn opened(dir: &Path) -> OwnedFd {
        rustix::fs::open(dir, OFlags::PATH, Mode::empty()).unwrap()
    }

    /// A workspace with one file `dir/file`, and beside it an `outside` that looks alike.
    fn alike() -> (tempfile::TempDir, PathBuf, Walk) {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().join("workspace");
        for dir in [&root, &place.path().join("outside")] {
            fs::create_dir_all(dir.join("dir")).unwrap();
            fs::write(dir.join("dir/file"), "x").unwrap();
        }
        let walk = Walk::new(
            &opened(&root),
            opened(&root),
            PathBuf::new(),
            None,
            IncludedFiles::default(),
        );
        (place, root, walk)
    }

    fn swap(root: &Path) {
        fs::rename(root.join("dir"), root.join("moved")).unwrap();
        symlink("../outside/dir", root.join("dir")).unwrap();
    }

    #[test]
    fn what_became_a_link_since_it_was_listed_is_not_followed() {
        let (_place, root, mut walk) = alike();
        swap(&root);
        let mut steps = std::iter::from_fn(|| walk.step());
        assert!(!steps.any(|step| matches!(step, WalkStep::File(_))));
        assert_eq!(walk.skipped, 1);

        let (_place, root, mut walk) = alike();
        assert!(matches!(walk.step(), Some(WalkStep::Entered(_))));
        let Some(WalkStep::File(path)) = walk.step() else {
            panic!("no file");
        };
        assert!(walk.open(&path).is_some());
        swap(&root);
        assert!(walk.open(&path).is_none());
    }

    #[test]
    fn rules_from_outside_are_not_heeded() {
        let (place, root, _) = alike();
        fs::write(place.path().join("outside/rules"), "dir\n").unwrap();
        symlink("../outside/rules", root.join(IGNORE)).unwrap();
        let mut walk = Walk::new(
            &opened(&root),
            opened(&root),
            PathBuf::new(),
            None,
            IncludedFiles::default(),
        );
        assert!(matches!(walk.step(), Some(WalkStep::Entered(_))));
    }

    #[test]
    fn rules_beyond_what_is_heeded_hide_nothing() {
        let (_place, root, _) = alike();
        fs::write(root.join(IGNORE), "dir\n".repeat(MAX_RULES)).unwrap();
        let mut walk = Walk::new(
            &opened(&root),
            opened(&root),
            PathBuf::new(),
            None,
            IncludedFiles::default(),
        );
        let steps: Vec<_> = std::iter::from_fn(|| walk.step()).collect();
        assert_eq!(steps.len(), 3, "{steps:?}");
    }
}
