//! What is on disk against what should be: directories, git's registry, our records, refs, locks, and what
//! was left half done. Each difference is a [`Finding`], which can be told (`GET /api/findings`, `doctor`)
//! or mended; at every start all of them are.
//!
//! Looking costs a few small reads per workspace and ref, and starts no process.

mod find;
pub(crate) mod repair;

pub use find::{look, look_for_databases, look_into};
pub use repair::mend;

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_git::{BrokenRef, Lock, WorktreeDamage};
use branchyard_model::{BranchName, RepoName};

pub use find::RepairScope;
pub use repair::{Mended, Zeal};

/// One difference between what is on disk and what should be.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// None where it is the whole yard's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repo: Option<RepoName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
    pub path: PathBuf,
    /// A stable word for programs.
    pub code: Cow<'static, str>,
    pub detail: String,
    /// What would be done about it; nothing where it is told and left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mend: Option<Cow<'static, str>>,
    #[serde(skip)]
    kind: Kind,
}

#[derive(Debug, Clone, Default)]
enum Kind {
    /// Never completed by a daemon that was killed.
    HalfMade,
    /// A removal that was cut off.
    Removing,
    DirectoryGone,
    /// A workspace's directory that git does not know any more.
    Unregistered,
    /// The same, and nobody knows of which branch.
    Unknown,
    Damaged(WorktreeDamage),
    RecordGone,
    Ref(BrokenRef),
    Lock(Lock),
    /// Objects are gone: only the remote can help.
    ObjectsGone,
    StoreGone,
    /// Nobody's, or kept for somebody to look at.
    #[default]
    LeftAlone,
}

impl Kind {
    fn code(&self) -> &'static str {
        match self {
            Self::HalfMade => "half_made",
            Self::Removing => "half_removed",
            Self::DirectoryGone => "directory_gone",
            Self::Unregistered => "unregistered",
            Self::Unknown => "unknown_workspace",
            Self::Damaged(WorktreeDamage::Link(_)) => "link_altered",
            Self::Damaged(WorktreeDamage::Head(_)) => "head_broken",
            Self::Damaged(WorktreeDamage::Index(_)) => "index_broken",
            Self::RecordGone => "record_gone",
            Self::Ref(_) => "ref_broken",
            Self::Lock(_) => "stale_lock",
            Self::ObjectsGone => "objects_gone",
            Self::StoreGone => "store_gone",
            Self::LeftAlone => "left_alone",
        }
    }

    fn mend(&self) -> Option<&'static str> {
        Some(match self {
            Self::HalfMade => "taken away; the next request makes it anew",
            Self::Removing => "completed if its directory is gone, called off if it is not",
            Self::DirectoryGone => "git's files about it are set aside, its commits stay",
            Self::Unregistered => "registered again; what is in its files shows as changes",
            Self::Unknown => {
                "a request for its branch registers it again; `branchyard doctor --fix` moves it to the quarantine"
            }
            Self::Damaged(WorktreeDamage::Link(_)) => {
                "put back; a directory in its place is kept in the quarantine"
            }
            Self::Damaged(WorktreeDamage::Head(_)) => "put back to its branch",
            Self::Damaged(WorktreeDamage::Index(_)) => {
                "made anew from HEAD; the old one is set aside"
            }
            Self::RecordGone => "written anew",
            Self::Ref(_) => "put back to the last good commit of its log, or fetched again",
            Self::Lock(_) => "removed: nobody is behind it",
            Self::ObjectsGone => {
                "cloned anew at the next request, with everything that can still be read; the damaged objects are kept in the quarantine"
            }
            Self::StoreGone => {
                "cloned anew at the next request, and its workspaces registered again"
            }
            Self::LeftAlone => return None,
        })
    }
}
