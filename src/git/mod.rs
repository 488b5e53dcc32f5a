//! One repository: answering questions about it (git2, in-process, always on the blocking pool) and
//! changing it (the `git` command, by one wrapper). Nothing here knows of workspaces' locks or of
//! runs; callers hold whatever lock an operation asks for.

mod command;
mod error;
mod isolation;
mod locks;
mod progress;
mod refs;
mod remote;
mod status;
mod store;
mod worktree;

pub use command::{Git, Settings};
pub use error::Error;
pub use isolation::isolate_libgit2;
pub use locks::{clear_own_ref_locks, clear_stale_locks, store_locks};
pub use progress::Percent;
pub use refs::{
    Seen, colliding_refs, delete_ref, forget_parked, park, parked_tip, read_ref, unpark,
    unpark_branch,
};
pub use remote::{fetch, remote_heads};
pub use status::{
    Head, head, rebased_branch, standing, tracked_changes, unpushed_refs, unseen_commits,
    untracked_entries,
};
pub use store::{Store, StoreInfo};
pub use worktree::{Moved, Worktree};
