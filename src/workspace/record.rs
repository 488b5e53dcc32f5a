//! What we know of a workspace beyond git: a small file in its administrative directory. It is also
//! the proof of which branch the directory belongs to.

use std::fs;
use std::io;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::model::BranchName;

const FILE: &str = "branchyard.json";
const VERSION: u32 = 1;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    version: u32,
    pub(super) branch: BranchName,
    pub(super) created_at: Timestamp,
    pub(super) last_used: Timestamp,
    /// When the remote was last asked for the branch, and answered.
    pub(super) fetched_at: Option<Timestamp>,
}

impl Record {
    pub(super) fn new(branch: BranchName) -> Self {
        let now = Timestamp::now();
        Self {
            version: VERSION,
            branch,
            created_at: now,
            last_used: now,
            fetched_at: None,
        }
    }

    /// The record in `admin`; `None` where there is none that we can read.
    pub(super) fn load(admin: &Path) -> Option<Self> {
        let json = fs::read(admin.join(FILE)).ok()?;
        serde_json::from_slice(&json)
            .ok()
            .filter(|record: &Self| record.version == VERSION)
    }

    pub(super) fn save(&self, admin: &Path) -> io::Result<()> {
        let fresh = admin.join(format!("{FILE}.new"));
        fs::write(&fresh, serde_json::to_vec(self)?)?;
        fs::rename(&fresh, admin.join(FILE))
    }
}
