//! Repositories by name: their settings, their store, and everything that is asked of their remote.
//! A repo is cloned once, on first use; its remote is asked by one process at a time, for all who
//! wait together.

mod answers;
mod clone;
mod error;
pub mod heal;
mod health;
mod init;
mod protection;
mod registry;
pub mod remote;
mod repo;
pub mod upkeep;

pub use answers::Asked;
pub use error::RepoError;
pub use registry::{Registration, Repos};
pub use repo::{Progress, Repo, Source};
pub use upkeep::Maintained;
