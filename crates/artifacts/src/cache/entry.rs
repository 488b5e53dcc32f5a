//! An entry of a cache on disk: `cache.json`, whose time is that of the last use, and `tree/<n>/` with what was beneath
//! each directory of the job.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use branchyard_model::sha256;
use branchyard_runtime::disk::{if_there, read_json};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub(super) const ABOUT: &str = "cache.json";
const TREE: &str = "tree";
/// What the name of a directory begins with before an entry is whole.
pub(super) const HALF_MADE: char = '.';

/// How far what made an entry was trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrustClass {
    /// The commit is what the remote has on a protected branch, or a candidate for one.
    Protected,
    Open,
}

/// What entries are kept for. One that was made in a scope is never found in another of the same name but another class.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CacheScope {
    /// Such as a branch.
    pub name: String,
    pub trust: TrustClass,
}

/// What `cache.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CacheAbout {
    pub(super) scope: CacheScope,
    pub(super) key: String,
    /// As they were written; another list has other entries.
    pub(super) paths: Vec<String>,
    /// Which directory of the job each part of the tree is from.
    pub(super) bases: Vec<String>,
    pub(super) files: usize,
    pub(super) bytes: u64,
    pub(super) digest: String,
    pub(super) created_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct CacheEntry {
    pub(super) dir: PathBuf,
    pub(super) about: CacheAbout,
}

impl CacheEntry {
    /// `None` if it is going, or was damaged.
    pub(super) fn read(dir: &Path) -> io::Result<Option<Self>> {
        let about = match read_json(&dir.join(ABOUT)) {
            // A file that a crash cut is no text of JSON.
            Err(error) if error.raw_os_error().is_none() => None,
            about => about?,
        };
        Ok(about.map(|about| Self {
            dir: dir.to_owned(),
            about,
        }))
    }

    /// Where the part of the tree is that is from one directory of the job.
    pub(super) fn tree(dir: &Path, n: usize) -> PathBuf {
        dir.join(TREE).join(n.to_string())
    }

    pub(super) fn last_used(&self) -> io::Result<SystemTime> {
        self.dir.join(ABOUT).metadata()?.modified()
    }

    /// Has it count as used now; false if it has gone.
    pub(super) fn touch(&self) -> io::Result<bool> {
        let about = if_there(File::options().append(true).open(self.dir.join(ABOUT)))?;
        about.map_or(Ok(false), |about| {
            about.set_modified(SystemTime::now()).map(|()| true)
        })
    }
}

/// The name of the directory of an entry.
pub(super) fn dir_name(scope: &CacheScope, key: &str, paths: &[String]) -> io::Result<String> {
    Ok(sha256(&serde_json::to_vec(&(scope, key, paths))?))
}

/// The directories in one, whatever they are, except for what is half made.
pub(super) fn dirs_in(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let Some(entries) = if_there(fs::read_dir(dir))? else {
        return Ok(Vec::new());
    };
    let paths: io::Result<Vec<_>> = entries.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| !is_half_made(path));
    Ok(paths)
}

/// Whether a save was not done with a directory.
pub(super) fn is_half_made(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(HALF_MADE))
}
