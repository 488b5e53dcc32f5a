//! What the operator decided: built-in defaults, then a TOML file, then `BRANCHYARD_*` variables,
//! then flags, each over the one before, made into one validated [`Config`].
//!
//! It promises that a wrong key or value is refused at start, by file, line and column and with
//! what was expected; that every path in a [`Config`] is absolute and every name and URL parsed;
//! and that no error, `Debug` or `Display` of it shows a key, a password or a variable's value.
//! It is the only reader of the process environment: what others need of that, they find here.
//! It must not write anything, and it starts no process.

mod access;
mod branches;
mod build;
mod count;
mod crash;
mod credential;
mod document;
mod duration;
mod environment;
mod error;
mod git;
mod glob;
mod globs;
mod history;
mod host;
mod key;
mod keys;
mod limits;
mod load;
mod log;
mod mark;
mod mcp;
mod origin;
mod path;
mod place;
mod reach;
mod reaper;
mod redact;
mod repo;
mod repos;
mod secret_file;
mod signing;
mod size;
mod task;
mod timeouts;
mod url;
mod value;
mod values;
mod variable;
mod web_host;

#[cfg(test)]
mod example;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::model::RepoName;

pub use access::{Access, HttpAccess, SshAccess};
pub use branches::BranchGlobs;
pub use build::{BuildConfig, MakeArg, SearchPath};
pub use crash::{crash_point, crash_variable};
pub use credential::{Credential, CredentialConfig, Scheme, Token};
pub use environment::Environment;
pub use error::{ConfigError, InFile};
pub use git::{GitConfig, Identity, Protocol};
pub use glob::BuildOutput;
pub use history::HistoryConfig;
pub use host::HostName;
pub use key::SessionKey;
pub use limits::Limits;
pub use load::{Flags, Sources};
pub use log::LogFilter;
pub use mark::Mark;
pub use mcp::{McpConfig, Toolset};
pub use origin::WebOrigin;
pub use reach::{HttpConfig, SshConfig};
pub use reaper::{MergedAgentBranches, ReaperConfig};
pub use repo::RepoConfig;
pub use signing::{AllowedSigners, SigningFormat, SigningKey};
pub use size::ByteSize;
pub use task::{Task, TaskName};
pub use timeouts::Timeouts;
pub use url::{RepoUrl, UrlPolicy};
pub use variable::{EnvName, EnvValue, is_secret_name};
pub use web_host::WebHost;

/// Everything that the daemon was told, checked and complete.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where the daemon listens. Default `127.0.0.1:3344`.
    pub listen: SocketAddr,
    /// The directory that holds everything. Default `~/build-workspaces`.
    pub workspaces: PathBuf,
    /// The key that opens everything: from a file, from a variable, or made at this start.
    pub session_key: SessionKey,
    /// `Host` names accepted besides loopback and the listen address. Default none.
    pub allowed_hosts: Vec<HostName>,
    /// Origins whose pages may call the daemon (CORS). Default none.
    pub allowed_origins: Vec<WebOrigin>,
    /// What is logged. Default `info`.
    pub log: LogFilter,
    pub limits: Limits,
    pub timeouts: Timeouts,
    pub git: GitConfig,
    /// How remotes are reached: what `[git]` and `[repos.NAME]` say of that, found and checked.
    pub access: Access,
    pub build: BuildConfig,
    pub reaper: ReaperConfig,
    pub history: HistoryConfig,
    pub mcp: McpConfig,
    pub repos: BTreeMap<RepoName, RepoConfig>,
    /// All that a build inherits of the daemon's environment: `PATH` (or `build.path`) and `HOME`.
    pub build_env_base: BTreeMap<OsString, OsString>,
    /// The daemon's own `PATH`, by which its git and ssh are found.
    pub path: OsString,
    /// The daemon's home directory: git's network commands find ssh keys and credentials there.
    pub home: Option<PathBuf>,
    /// The ssh agent, for git's network commands only.
    pub ssh_auth_sock: Option<OsString>,
    /// `XDG_RUNTIME_DIR`: where clients of the same user look for the daemon first.
    pub runtime_dir: Option<PathBuf>,
}
