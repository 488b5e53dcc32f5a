//! Repositories by name: their settings, their store, and everything that is asked of their remote.
//! A repo is cloned once, on first use; its remote is asked by one process at a time, for all who
//! wait together.

mod answers;
mod blocking;
mod clone;
mod error;
pub mod heal;
mod health;
mod init;
mod lfs;
mod named_urls;
mod protection;
pub mod refs;
mod registry;
pub mod remote;
mod repo;
mod source;
mod submodule_store;
mod submodules;
pub mod upkeep;

pub use answers::Asked;
pub use error::RepoError;
pub use lfs::LfsRemote;
pub use registry::{Registration, Repos};
pub use repo::{Progress, Repo};
pub use source::Source;
pub use submodule_store::SubmoduleStore;
pub use submodules::{FoundSubmodule, FoundSubmodules, SubmoduleStores};
pub use upkeep::Maintained;
