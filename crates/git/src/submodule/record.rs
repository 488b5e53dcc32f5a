//! What is on record of a submodule of a workspace: where it is, where it is from, and the commit at which it was put.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fixed_file::{is_exactly, write_whole};
use crate::plain_file::read_plain;
use branchyard_model::{CommitId, sha256};
use branchyard_runtime::disk::Moment;

/// The directory of the registrations of all submodules, in that of the worktree that has them, as git itself has it.
pub(crate) const SUBMODULES: &str = "modules";
/// The name of the record in a registration.
pub(crate) const RECORD: &str = "branchyard-submodule.json";
const MAX_SIZE: u64 = 64 << 10;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SubmoduleRecord {
    /// From the root of the workspace.
    pub(crate) path: PathBuf,
    pub(crate) url: String,
    pub(crate) commit: CommitId,
    /// It is on its way there, and may be half written.
    pub(crate) moving: Option<MovingFrom>,
}

/// What was there before a move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum MovingFrom {
    Nothing,
    Something,
}

impl SubmoduleRecord {
    /// That of a registration; `None` where it has none.
    pub(crate) fn load(admin: &Path) -> Option<Self> {
        let json = read_plain(&admin.join(RECORD), MAX_SIZE).ok()??;
        let record: Self = serde_json::from_slice(&json).ok()?;
        let mut parts = record.path.components();
        parts
            .all(|part| matches!(part, Component::Normal(_)))
            .then_some(record)
    }

    pub(crate) fn save(&self, admin: &Path) -> io::Result<()> {
        write_whole(&admin.join(RECORD), serde_json::to_vec(self)?)
    }

    /// When the record of a registration was written.
    pub(crate) fn written(admin: &Path) -> io::Result<Moment> {
        Ok(Moment::of_write(&fs::symlink_metadata(admin.join(RECORD))?))
    }
}

/// The submodules of a worktree that are where they were put. They follow its commit, sooner or later.
pub(crate) fn that_follow(admin: &Path) -> HashSet<PathBuf> {
    let entries = fs::read_dir(admin.join(SUBMODULES));
    let entries = entries.into_iter().flatten().flatten();
    let followers = entries.filter_map(|entry| {
        let record = SubmoduleRecord::load(&entry.path())?;
        let head = format!("{}\n", record.commit);
        is_exactly(&entry.path().join("HEAD"), &head).then_some(record.path)
    });
    followers.collect()
}

/// Where the submodule at `path` is registered, in the registration of the worktree that has it. A path is no name of a
/// directory; its digest is.
pub(crate) fn submodule_registration(path: &Path) -> PathBuf {
    Path::new(SUBMODULES).join(digest_of(path.as_os_str().as_bytes()))
}

/// Whether a directory beside the registrations of submodules has the name of one.
pub(crate) fn is_submodule_registration(name: &str) -> bool {
    name.len() == DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Where the store of the submodules from `url` is, within that of the repository.
pub fn submodule_store(store: &Path, url: &str) -> PathBuf {
    store.join(SUBMODULES).join(digest_of(url.as_bytes()))
}

const DIGITS: usize = 32;

fn digest_of(bytes: &[u8]) -> String {
    sha256(bytes)[..DIGITS].to_owned()
}
