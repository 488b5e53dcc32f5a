//! Remotes that are no mere directory: git's own servers on loopback ports, and what can go wrong on the
//! way to them.

mod daemon;
mod http;
mod lfs;
mod proxy;
mod server;
mod ssh;
mod tls;

pub use daemon::GitDaemon;
pub use http::{Auth, Fault, HttpRemote};
pub use lfs::{LfsFault, pointer};
pub use proxy::Proxy;
pub use server::free_port;
pub use ssh::SshRemote;
pub use tls::TlsFront;
