//! Artifacts and caches of jobs. The files of an artifact are blobs by SHA-256, and a set names them; a cache entry is
//! a directory tree that never changes. What they are made of was written by builds: it is read beneath the directories
//! of a job, no link in it is followed, and nothing in it is waited for.

mod archive;
mod beneath;
mod blobs;
mod cache;
mod collect;
mod copy;
mod error;
mod job_dirs;
mod left_out;
mod limits;
mod name;
mod pattern;
mod restore;
mod search;
mod set;
mod set_files;
mod store;
mod sweep;
mod tree;
mod unpack;
mod walk;

pub use cache::{
    CacheLimits, CacheRequest, CacheScope, CacheStore, CacheUsage, Restored, Saved, TrustClass,
};
pub use collect::{CollectRequest, Collected};
pub use error::ArtifactError;
pub use job_dirs::{JobDir, JobDirs};
pub use limits::ArtifactLimits;
pub use set::{ArtifactFile, ArtifactSet, SetOwner, UNNAMED};
pub use store::{ArtifactStore, ArtifactUsage};
pub use sweep::Swept;
pub use unpack::{PartialFile, UnpackDir};
