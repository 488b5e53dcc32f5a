//! What the command line says about the configuration.

use std::net::SocketAddr;
use std::path::PathBuf;

/// What the command line says. Relative paths start from the current directory.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--listen`
    pub listen: Option<SocketAddr>,
    /// `--workspaces`
    pub workspaces: Option<PathBuf>,
    /// `--key-file`
    pub key_file: Option<PathBuf>,
}
