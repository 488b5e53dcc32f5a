//! Arguments of the commands that are about the daemon itself.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where to listen
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// The directory that holds clones, workspaces and state
    #[arg(long, value_name = "DIR")]
    pub workspaces: Option<PathBuf>,
    /// Read the session key from this file
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct CheckConfigArgs {
    /// The configuration, a TOML file
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}
