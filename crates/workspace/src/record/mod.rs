//! What we know of a workspace beyond git: a small file in its administrative directory. It is also
//! the proof of which branch the directory belongs to.

mod built_from;
mod pin;
mod set_up;
mod sizes;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use built_from::BuiltFrom;
pub use pin::Pin;
pub(crate) use set_up::{MadeAt, SetUp};
pub use sizes::Sizes;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::repos::Repo;
use branchyard_git as git;
use branchyard_model::{BranchName, DirName, Warm};

const FILE: &str = "branchyard.json";
const VERSION: u32 = 1;
const MAX_SIZE: u64 = 1 << 20;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) version: u32,
    pub(crate) branch: BranchName,
    pub(crate) created_at: Timestamp,
    /// For people; idleness is counted from `used_tick`.
    pub(crate) last_used: Timestamp,
    /// When the remote was last asked for the branch, and answered.
    pub(crate) fetched_at: Option<Timestamp>,
    /// When it was last used, in the daemon's own time.
    pub(crate) used_tick: Option<u64>,
    pub(crate) pinned: Option<Pin>,
    pub(crate) sizes: Option<Sizes>,
    /// When `sizes` were measured, in the daemon's own time.
    #[serde(default)]
    pub(crate) measured_tick: u64,
    /// What it was made from; what that had built may still be here.
    pub(crate) warm: Option<Warm>,
    /// A command in it was given a secret, which may be in what it left behind.
    #[serde(default)]
    pub(crate) had_secret: bool,
    pub(crate) setup: Option<SetUp>,
    /// What the build output in it was made of.
    #[serde(default)]
    pub(crate) built_from: BuiltFrom,
    /// Who began what is under way, where one of our verbs did.
    pub(crate) operation: Option<BegunOperation>,
    /// Which directory was made for it, by the number that the file system has for that.
    pub(crate) inode: Option<u64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct BegunOperation {
    /// Which merge, rebase or the like it is, by where it began.
    pub(crate) what: String,
    pub(crate) by: String,
    pub(crate) at: Timestamp,
}

impl Record {
    /// Of a workspace that is about to be checked out.
    pub(crate) fn of_new(branch: BranchName, tick: u64, inode: Option<u64>) -> Self {
        Self {
            built_from: BuiltFrom::nothing(),
            inode,
            ..Self::new(branch, tick)
        }
    }

    /// Of a workspace of which nothing is known.
    pub(crate) fn new(branch: BranchName, tick: u64) -> Self {
        let now = Timestamp::now();
        Self {
            version: VERSION,
            branch,
            created_at: now,
            last_used: now,
            fetched_at: None,
            used_tick: Some(tick),
            pinned: None,
            sizes: None,
            measured_tick: 0,
            warm: None,
            had_secret: false,
            setup: None,
            built_from: BuiltFrom::Unknown,
            operation: None,
            inode: None,
        }
    }

    pub(crate) fn file(admin: &Path) -> PathBuf {
        admin.join(FILE)
    }

    /// The record in `admin`; `None` where there is none that we can read.
    pub(crate) fn load(admin: &Path) -> Option<Self> {
        let json = git::read_plain(&Self::file(admin), MAX_SIZE).ok()??;
        serde_json::from_slice(&json)
            .ok()
            .filter(|record: &Self| record.version == VERSION)
    }

    /// The records of all workspaces of `repo`, each where it belongs.
    pub(crate) fn all_of(repo: &Repo) -> Vec<Self> {
        let Ok(entries) = fs::read_dir(repo.store().path().join("worktrees")) else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let dir = DirName::parse(entry.file_name().to_str()?)?;
                let record = Self::load(&entry.path())?;
                (record.branch.dir() == dir).then_some(record)
            })
            .collect()
    }

    pub(crate) fn save(&self, admin: &Path) -> io::Result<()> {
        let fresh = admin.join(format!("{FILE}.new"));
        fs::write(&fresh, serde_json::to_vec(self)?)?;
        fs::rename(&fresh, Self::file(admin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_of_an_earlier_version_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let json = r#"{"version":1,"branch":"main","created_at":"2026-01-01T00:00:00Z","last_used":"2026-01-01T00:00:00Z","fetched_at":null}"#;
        fs::write(dir.path().join(FILE), json).unwrap();
        let record = Record::load(dir.path()).unwrap();
        assert_eq!(record.used_tick, None);
        assert!(record.pinned.is_none() && record.sizes.is_none());
        assert_eq!(
            record.built_from,
            BuiltFrom::Unknown,
            "nothing vouches for what lies there"
        );
    }
}
