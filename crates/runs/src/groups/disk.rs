//! Groups on disk: a directory each, with the record (written by rename) and the journal.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::RunBody;
use branchyard_model::{GroupId, GroupRecord};
use branchyard_runtime::disk::{create_private_dir, make_private, read_json, write_json};

const RECORD: &str = "group.json";

#[derive(Debug)]
pub(super) struct Disk(PathBuf);

/// A group, and what its runs are asked for with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Saved {
    pub(super) record: GroupRecord,
    pub(super) request: RunBody,
}

impl Disk {
    pub(super) fn open(state: &Path) -> io::Result<Self> {
        let dir = state.join("groups");
        fs::create_dir_all(&dir)?;
        Ok(Self(dir))
    }

    pub(super) fn create(&self, group: GroupId) -> io::Result<()> {
        create_private_dir(&self.home(group))
    }

    pub(super) fn save(&self, saved: &Saved) -> io::Result<()> {
        let home = self.home(saved.record.group_id);
        write_json(&home.join(RECORD), saved)
    }

    /// Closes a group that a daemon of an earlier version left open to other users.
    pub(super) fn close_to_others(&self, group: GroupId) -> io::Result<()> {
        make_private(&self.home(group), &[RECORD]).map(drop)
    }

    pub(super) fn load(&self, group: GroupId) -> Option<Saved> {
        read_json(&self.home(group).join(RECORD)).ok()?
    }

    pub(super) fn journal(&self, group: GroupId) -> PathBuf {
        self.home(group).join("journal")
    }

    pub(super) fn ids(&self) -> Vec<GroupId> {
        let mut ids: Vec<_> = fs::read_dir(&self.0)
            .into_iter()
            .flatten()
            .filter_map(|entry| GroupId::parse(entry.ok()?.file_name().to_str()?).ok())
            .collect();
        ids.sort_unstable();
        ids
    }

    pub(super) fn remove(&self, group: GroupId) -> io::Result<()> {
        fs::remove_dir_all(self.home(group))
    }

    pub(super) fn home(&self, group: GroupId) -> PathBuf {
        self.0.join(group.to_string())
    }
}
