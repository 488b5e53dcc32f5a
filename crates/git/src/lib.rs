//! One repository: answering questions about it (git2, in-process, always on the blocking pool) and
//! changing it (the `git` command, by one wrapper). Nothing here knows of workspaces' locks or of
//! runs; callers hold whatever lock an operation asks for.

mod attributes;
mod author;
mod bisect;
mod blob_config;
mod broken;
mod checkout;
mod command;
mod commits;
mod committed_ignores;
mod confined;
pub mod contents;
mod credential;
mod detached;
mod difference;
mod differs;
mod environment;
mod error;
mod extent;
mod failure;
mod file_comparer;
mod fixed_file;
mod gitlink;
mod gitmodules;
mod ids;
mod ignore_rules;
mod index_file;
mod isolation;
pub mod lfs;
mod locks;
mod maintenance;
mod marks;
pub mod mending;
mod metadata_scan;
mod moves;
mod need;
mod neighbour;
mod origin;
mod plain_file;
mod progress;
mod public_host;
mod quoted_path;
mod reflog;
mod refs;
mod register;
mod remote;
mod repository;
mod rescue;
mod retry;
mod salvage;
mod scan;
mod settings;
mod settle;
mod shadow;
mod signing;
mod snapshot;
mod ssh;
mod status;
mod statuses;
mod still_files;
mod store;
mod strangers;
mod submodule;
mod traps;
mod untracked;
mod untracked_entry;
pub mod verbs;
mod version;
mod worktree;

pub use author::{author_variables, authored};
pub use bisect::{LinkedCommit, commits_between, merge_base, subject};
pub use broken::{BrokenRef, mend_ref, packed_refs_are_sound};
pub use checkout::is_plain_name;
pub use command::Git;
pub use commits::{
    CommitTree, commit_at, has_changes_of, has_commit, is_ahead, is_ancestor, is_published, message,
};
pub use committed_ignores::CommittedIgnores;
pub use confined::{worktree_to_read, worktree_to_write};
pub use contents::{Moved, Tips};
pub use credential::{CREDENTIAL_COMMAND, CredentialLease, credential_helper_main};
pub use detached::{DetachedWorktree, SwitchRules, UntrackedFiles};
pub use difference::{Difference, TreeChange};
pub use differs::differs_from_head;
pub use environment::NetworkAccess;
pub use error::Error;
pub use extent::check_checkout;
use extent::check_extent;
pub use failure::RemoteFailure;
use file_comparer::{FileChange, FileComparer};
pub use fixed_file::write_whole;
pub use gitmodules::{DeclaredSubmodule, declared_submodules};
pub use ids::{ObjectId, blob_id, commit_id, object_id};
pub use ignore_rules::{IgnoreRules, MAX_RULES, parse_rules};
use index_file::IndexedFile;
pub use index_file::{FileStat, IndexFile, Moment};
pub use isolation::isolate_libgit2;
pub use locks::{Lock, all_locks, clear_half_fetched, clear_stale_locks, is_locked, store_locks};
pub use maintenance::{Upkeep, maintain};
pub use mending::{Depth, Inspection, WorktreeDamage, claims_registration};
pub use moves::{changed_by_move, changed_by_reset, differing, is_between};
pub use need::checkout_need;
pub use neighbour::neighbour_heads;
pub use origin::make_origin;
use plain_file::open_plain;
pub use plain_file::read_plain;
pub use progress::Percent;
pub use public_host::PublicHost;
pub use quoted_path::unquoted;
pub use refs::{
    Seen, colliding_refs, delete_ref, delete_ref_at, forget_parked, keep, park, parked_tip,
    read_ref, refs_under, remote_branches, unpark, unpark_branch,
};
pub use remote::{
    fetch, fetch_all_heads, fetch_commit, fetch_ref, has_remote_tags, remote_branches_and_tags,
    remote_default, remote_heads, remote_named,
};
pub use repository::Repository;
pub use rescue::{exchange, is_connected, is_readable, rescue_objects};
pub use salvage::{
    Contents, Manifest, Saved, SavedStash, forget_salvage, left_behind, put_back, salvaged_file,
    salvaged_files, salvages, save, settle_archives,
};
pub use scan::{
    FEW, For, MetadataStatus, ScanResult, scan, scan_beside, tracked_changes,
    tracked_changes_beside, untracked_entries,
};
use scan::{copy_of_index, small_index};
pub use settings::Settings;
pub use settle::{remote_refs, settle_refs};
pub use signing::{Signing, signed, unsigned};
pub use snapshot::{forget_snapshot, snapshot, snapshots};
pub use ssh::ssh_command;
pub use status::{
    Head, Stash, head, rebased_branch, standing, stashes, unpushed_refs, unseen_commits,
};
use statuses::unstaged_changes;
use statuses::{Tracked, compared, suspects, tracked_statuses};
pub use statuses::{changed_files, is_any_changed};
use still_files::StillFiles;
pub use store::{Store, open_store};
pub use strangers::strangers;
pub use submodule::{
    LookedSubmodule, Submodule, SubmoduleState, look_at_submodules, other_submodules,
    submodule_states, submodule_store,
};
use traps::{refuse_traps, traps};
pub use untracked::Untracked;
use untracked_entry::is_submodule;
pub use untracked_entry::{GITLINK, UntrackedEntry, UntrackedKind, submodules, untracked_in};
pub use version::{BEARER, GitVersion, OLDEST, git_version, lacks_bearer};
use worktree::open_at;
pub use worktree::{Worktree, files_of};
