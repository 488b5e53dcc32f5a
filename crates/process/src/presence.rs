//! Is anybody in there? Asked before a lock file is called stale, or a directory is moved.

use std::fs;
use std::path::{Path, PathBuf};

/// Where processes other than this one have their working directory or an open file, at one moment.
/// Processes that cannot be looked at, being another user's, cannot write here either.
/// `None` where processes cannot be seen at all: then any directory may be in use.
#[derive(Debug)]
pub struct Presence(Option<Vec<OpenPath>>);

#[derive(Debug)]
struct OpenPath {
    pid: u32,
    path: PathBuf,
    /// It is a git that is there.
    is_git: bool,
}

impl Presence {
    /// Looks once at everyone who is somewhere below `root`.
    pub fn below(root: &Path) -> Self {
        let own = std::process::id();
        let root = &real(root);
        let Ok(processes) = fs::read_dir("/proc") else {
            return Self(None);
        };
        let mut places = Vec::new();
        for entry in processes.flatten() {
            let pid = entry.file_name().to_str().and_then(|pid| pid.parse().ok());
            if let Some(pid) = pid.filter(|pid| *pid != own) {
                places_of(pid, &entry.path(), root, &mut places);
            }
        }
        Self(Some(places))
    }

    /// Whether anybody is in `dir`.
    pub fn is_in(&self, dir: &Path) -> bool {
        self.any(dir, |_| true)
    }

    /// Whether somebody other than a git is in `dir`.
    pub fn worker_is_in(&self, dir: &Path) -> bool {
        self.any(dir, |place| !place.is_git)
    }

    /// Whether a git is in `dir`.
    pub fn git_is_in(&self, dir: &Path) -> bool {
        self.any(dir, |place| place.is_git)
    }

    fn any(&self, dir: &Path, counts: impl Fn(&OpenPath) -> bool) -> bool {
        let dir = &real(dir);
        self.0.as_ref().is_none_or(|places| {
            places
                .iter()
                .any(|place| place.path.starts_with(dir) && counts(place))
        })
    }
}

/// Whether a process other than this one has its working directory or an open file in `dir`.
pub fn is_in_use(dir: &Path) -> bool {
    who_is_in(dir).is_some()
}

/// The first such process; without a look at processes the very first of them, which is always there.
pub fn who_is_in(dir: &Path) -> Option<u32> {
    match Presence::below(dir).0 {
        Some(places) => places.first().map(|place| place.pid),
        None => Some(1),
    }
}

/// The kernel names places by their real paths.
fn real(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

fn places_of(pid: u32, process: &Path, root: &Path, places: &mut Vec<OpenPath>) {
    if paths_of(process, root).next().is_none() {
        return;
    }
    let stat = fs::read_to_string(process.join("stat"));
    if stat.is_ok_and(|stat| is_being_started(&stat, std::process::id())) {
        return;
    }
    let is_git = runs_git(process);
    // Again: what was seen may have been ours, and it a program of its own only since.
    let paths = paths_of(process, root);
    places.extend(paths.map(|path| OpenPath { pid, path, is_git }));
}

/// Where below `root` a process is.
fn paths_of(process: &Path, root: &Path) -> impl Iterator<Item = PathBuf> {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten();
    let links = open.flatten().map(|fd| fd.path());
    let paths = links.chain([process.join("cwd")]).map(fs::read_link);
    paths.flatten().filter(move |path| path.starts_with(root))
}

/// Whether this is a process that `parent` has forked, and that is no program of its own yet: until then it has
/// all files of its parent, which are nobody else's.
fn is_being_started(stat: &str, parent: u32) -> bool {
    /// The kernel's `PF_FORKNOEXEC`.
    const NOT_EXECUTED: u64 = 0x40;
    // The name in parentheses may have spaces in it.
    let after_name = stat.rsplit_once(')').map_or("", |(_, after)| after);
    let mut fields = after_name.split_whitespace().skip(1);
    let mut field = |skip| fields.nth(skip)?.parse::<u64>().ok();
    let is_ours = field(0) == Some(u64::from(parent));
    is_ours && field(4).is_some_and(|flags| flags & NOT_EXECUTED != 0)
}

fn runs_git(process: &Path) -> bool {
    fs::read_link(process.join("exe")).is_ok_and(|program| {
        program
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("git"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_we_have_forked_is_nobody_until_it_is_a_program() {
        let stat = |flags: u64| format!("77 (a (b) c) S 5 77 77 0 -1 {flags} 93 0 0 0 1 2");
        assert!(is_being_started(&stat(0x40_0040), 5));
        assert!(!is_being_started(&stat(0x40_0000), 5), "it was executed");
        assert!(!is_being_started(&stat(0x40_0040), 6), "another's");
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        let parent = std::os::unix::process::parent_id();
        assert!(!is_being_started(&own, parent));
        assert!(!is_being_started("", 5));
    }
}
