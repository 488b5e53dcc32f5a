//! Which branches of a repo have a workspace. Each one's record says so, and is read again only when it was
//! written since; and none is looked at while the directory of all of them is as it was: to count a thousand
//! workspaces is to look at one directory.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;

use super::record::Record;
use crate::repos::Repo;
use crate::scratch::is_scratch;
use branchyard_model::{BranchName, DirName, RepoName};

#[derive(Debug, Default)]
pub(super) struct Names(Mutex<HashMap<RepoName, Arc<KnownNames>>>);

#[derive(Debug, Default)]
struct KnownNames {
    /// By directory: which branch it belongs to, and the record that said so.
    by_dir: HashMap<OsString, (BranchName, RecordStamp)>,
    /// All of them, sorted.
    branches: Arc<[BranchName]>,
    /// When the directory of all of them was last changed, if each was found to be one and nothing can have come since
    /// without another time.
    settled: Option<SystemTime>,
}

/// So long after a change, another one has another time, whatever the file system's clock is like.
const SETTLED_AFTER: Duration = Duration::from_millis(100);

/// The file of a record and its last change. It is written by rename, so another one is another file.
type RecordStamp = (u64, i64, i64);

impl Names {
    /// Sorted.
    pub(super) fn of(&self, repo: &Repo) -> Arc<[BranchName]> {
        let before = self.0.lock().get(repo.name()).cloned();
        let before = before.unwrap_or_default();
        let worktrees = repo.store().path().join("worktrees");
        let changed = changed_long_ago(&worktrees);
        if changed.is_some() && before.settled == changed {
            return before.branches.clone();
        }
        let mut known = KnownNames {
            settled: changed,
            ..KnownNames::default()
        };
        for entry in fs::read_dir(worktrees).into_iter().flatten().flatten() {
            let dir = entry.file_name();
            if dir.to_str().is_some_and(is_scratch) {
                continue;
            }
            let found = stamp_of(&entry.path()).and_then(|stamp| {
                let branch = match before.by_dir.get(&dir) {
                    Some((branch, seen)) if *seen == stamp => branch.clone(),
                    _ => recorded(&entry.path())?,
                };
                Some((branch, stamp))
            });
            match found {
                Some(found) => drop(known.by_dir.insert(dir, found)),
                // It may become one, of which the directory of all would tell nothing.
                None => known.settled = None,
            }
        }
        let branches = known.by_dir.values().map(|(branch, _)| branch.clone());
        let mut branches: Vec<_> = branches.collect();
        branches.sort();
        known.branches = branches.into();
        let branches = known.branches.clone();
        self.0.lock().insert(repo.name().clone(), Arc::new(known));
        branches
    }
}

/// When a directory was last changed, unless that was just now.
fn changed_long_ago(dir: &Path) -> Option<SystemTime> {
    let changed = fs::metadata(dir).ok()?.modified().ok()?;
    let since = SystemTime::now().duration_since(changed).ok()?;
    (since > SETTLED_AFTER).then_some(changed)
}

fn stamp_of(admin: &Path) -> Option<RecordStamp> {
    let meta = fs::metadata(Record::file(admin)).ok()?;
    Some((meta.ino(), meta.ctime(), meta.ctime_nsec()))
}

/// The branch of a record that stands where it belongs.
fn recorded(admin: &Path) -> Option<BranchName> {
    let dir = DirName::parse(admin.file_name()?.to_str()?)?;
    let branch = Record::load(admin)?.branch;
    (branch.dir() == dir).then_some(branch)
}
