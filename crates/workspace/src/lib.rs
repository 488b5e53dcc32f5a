//! Workspaces: the worktree of one (repo, branch), its two locks, and everything that happens to its
//! files by our hand.
//!
//! `queue` is exclusive and first come, first served: one run or git write at a time. `files` is
//! shared by reads and by the running command, and exclusive only while we create, move or remove
//! files. So a read never waits for a build, and never sees a half-made tree. Locks are taken in one
//! order: `queue`, `files`, the repo's registry.

mod agents;
mod blocking;
mod build_output;
pub mod built_from;
pub mod code_env;
mod create;
mod decide;
pub mod describe;
mod error;
mod file_copy;
pub mod files;
mod files_lock;
mod fill;
mod fits;
mod follow;
pub mod guard;
mod half_made;
mod helpers;
mod in_the_way;
pub mod included;
mod left_out;
mod lending;
mod lfs;
mod live;
mod names;
mod parallel;
pub mod pin;
mod ports;
pub mod prepare;
mod queue;
mod reaper;
pub mod reconcile;
mod record;
pub mod recover;
mod registry;
mod remembered;
mod removal;
pub mod remove;
pub mod repos;
mod reset;
pub mod restore;
mod room;
pub mod salvage;
mod scan_limit;
mod scanner;
mod scratch;
mod settle;
pub mod setup;
pub mod sizes;
pub mod snapshot;
pub mod standing;
mod submodules;
pub mod sync;
pub mod taint;
mod ticks;
mod tree_copy;
pub mod unfilled;
pub mod untracked_digest;
pub mod verbs;
pub mod warm;
pub mod work;
mod workspace;
mod written_since;

use std::sync::Arc;

use branchyard_model::{Phase, Warm, Warning};

pub use agents::{AgentBranch, AgentBranches};
pub use describe::Description;
pub use error::{Error, branch_not_found, check_is_branch, protected_branch, protected_from};
pub use files::{
    Entry, EntryKind, FilePart, FileText, Grep, GrepRequest, LineMatch, LinesOfPart, ListRequest,
    Listing, Matches, RawFile, ReadRequest, Stamp,
};
pub use files_lock::FilesGuard;
pub use helpers::{HelperGuard, Helpers};
pub use parallel::parallel;
pub use queue::{QueuePlace, Waiting, WorkspaceLock, WorkspaceQueue};
pub use reaper::{MergedBranch, ReapAction, ReapOutcome, Reaped, Reaper, Reaping};
pub use reconcile::{Finding, Mended, RepairScope, Zeal};
pub use record::{Pin, Sizes};
pub use registry::Workspaces;
pub use remove::Going;
pub use salvage::no_salvage;
pub use scan_limit::{LIST_PATIENCE, unresponsive};
pub use scratch::{HeldScratch, ScratchLease, ScratchPool, ScratchUse, SetupMade, WantedSetup};
pub use sizes::Usage;
pub use sync::{PrepareOptions, Prepared};
pub use ticks::Ticks;
pub use verbs::{Files, GoOn};
pub use workspace::Workspace;
pub use written_since::{files_since, written_since};

/// What happens on the way, for whoever watches.
#[derive(Debug, Clone)]
pub enum Report {
    Phase(Phase, Option<u8>),
    /// The workspace was made from a sibling.
    Warm(Warm),
    Warning(Warning),
}

/// Told of what happens on the way. Shared, because work may outlive whoever asked for it.
pub type Reporter = Arc<dyn Fn(Report) + Send + Sync>;

/// For when nobody watches.
pub fn silent() -> Reporter {
    Arc::new(|_| {})
}
