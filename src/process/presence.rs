//! Is anybody in there? Asked before a lock file is called stale, or a directory is moved.

use std::fs;
use std::path::{Path, PathBuf};

/// Where processes other than this one have their working directory or an open file, at one moment.
/// Processes that cannot be looked at, being another user's, cannot write here either.
#[derive(Debug)]
pub struct Presence {
    /// `None` where processes cannot be seen at all: then somebody may be anywhere.
    places: Option<Vec<Place>>,
}

#[derive(Debug)]
struct Place {
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
            return Self { places: None };
        };
        let mut places = Vec::new();
        for entry in processes.flatten() {
            let pid = entry.file_name().to_str().and_then(|pid| pid.parse().ok());
            if let Some(pid) = pid.filter(|pid| *pid != own) {
                places_of(pid, &entry.path(), root, &mut places);
            }
        }
        Self {
            places: Some(places),
        }
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

    fn any(&self, dir: &Path, counts: impl Fn(&Place) -> bool) -> bool {
        let dir = &real(dir);
        self.places.as_ref().is_none_or(|places| {
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
    match Presence::below(dir).places {
        Some(places) => places.first().map(|place| place.pid),
        None => Some(1),
    }
}

/// The kernel names places by their real paths.
fn real(dir: &Path) -> PathBuf {
    dir.canonicalize().unwrap_or_else(|_| dir.to_owned())
}

fn places_of(pid: u32, process: &Path, root: &Path, places: &mut Vec<Place>) {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten();
    let links = open.flatten().map(|fd| fd.path());
    let mut is_git = None;
    for link in links.chain([process.join("cwd")]) {
        if let Ok(path) = fs::read_link(link)
            && path.starts_with(root)
        {
            let is_git = *is_git.get_or_insert_with(|| runs_git(process));
            places.push(Place { pid, path, is_git });
        }
    }
}

fn runs_git(process: &Path) -> bool {
    fs::read_link(process.join("exe")).is_ok_and(|program| {
        program
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("git"))
    })
}
