//! Caches of jobs: directories that a job keeps under a key, for later jobs to begin with.

mod copy;
mod entry;
mod find;
mod in_use;
mod limits;
mod store;

pub use entry::{CacheScope, TrustClass};
pub use find::CacheRequest;
pub use limits::CacheLimits;
pub use store::{CacheStore, CacheUsage, Restored, Saved};
