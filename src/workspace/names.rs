//! Which branches of a repo have a workspace. Each one's record says so, and is read again only when it was
//! written since: a list of many costs a look at each, not the reading of each.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::record::Record;
use crate::model::{BranchName, DirName, RepoName};
use crate::repos::Repo;

#[derive(Debug, Default)]
pub(super) struct Names(Mutex<HashMap<RepoName, Arc<Known>>>);

/// By directory: which branch it belongs to, and the record that said so.
type Known = HashMap<OsString, (BranchName, Stamp)>;

/// A record is written by rename, so another one is another file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    file: u64,
    changed: (i64, i64),
}

impl Names {
    /// In no order.
    pub(super) fn of(&self, repo: &Repo) -> Vec<BranchName> {
        let before = self.lock().get(&repo.name).cloned().unwrap_or_default();
        let mut known = Known::new();
        let entries = fs::read_dir(repo.store().path().join("worktrees"));
        for entry in entries.into_iter().flatten().flatten() {
            let dir = entry.file_name();
            let Some(stamp) = Stamp::of(&entry.path()) else {
                continue;
            };
            let branch = match before.get(&dir) {
                Some((branch, seen)) if *seen == stamp => Some(branch.clone()),
                _ => recorded(&entry.path()),
            };
            if let Some(branch) = branch {
                known.insert(dir, (branch, stamp));
            }
        }
        let branches = known.values().map(|(branch, _)| branch.clone()).collect();
        self.lock().insert(repo.name.clone(), Arc::new(known));
        branches
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<RepoName, Arc<Known>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Stamp {
    fn of(admin: &Path) -> Option<Self> {
        let meta = fs::metadata(Record::file(admin)).ok()?;
        Some(Self {
            file: meta.ino(),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

/// The branch of a record that stands where it belongs.
fn recorded(admin: &Path) -> Option<BranchName> {
    let dir = DirName::parse(admin.file_name()?.to_str()?)?;
    let branch = Record::load(admin)?.branch;
    (branch.dir() == dir).then_some(branch)
}
