//! What the configuration file says, key by key.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;

use super::value;
use super::{
    AuditConfig, AuthConfig, BuildConfig, GitConfig, HistoryConfig, HostName, Limits, LogFilter,
    McpConfig, ReaperConfig, RepoConfig, SandboxConfig, SecretConfig, SecretName, Timeouts,
    TlsConfig, WebOrigin,
};
use branchyard_model::RepoName;

/// The keys of the file. Paths and repo URLs are as they were written; the rest is checked.
#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Values {
    /// Default `127.0.0.1:3344`.
    #[serde(deserialize_with = "value::text")]
    pub listen: SocketAddr,
    /// A Unix socket to listen on as well. Default none.
    pub socket: Option<PathBuf>,
    /// Default `~/build-workspaces`.
    pub workspaces: PathBuf,
    /// A file that holds the session key. Default: a key is made at every start.
    pub key_file: Option<PathBuf>,
    /// Default none.
    pub allowed_hosts: Vec<HostName>,
    /// Default none.
    pub allowed_origins: Vec<WebOrigin>,
    /// Default `info`.
    pub log: LogFilter,
    pub auth: AuthConfig,
    pub tls: TlsConfig,
    pub limits: Limits,
    pub timeouts: Timeouts,
    pub git: GitConfig,
    pub build: BuildConfig,
    pub reaper: ReaperConfig,
    pub history: HistoryConfig,
    pub audit: AuditConfig,
    pub mcp: McpConfig,
    /// Default none.
    pub secrets: BTreeMap<SecretName, SecretConfig>,
    pub sandbox: SandboxConfig,
    pub repos: BTreeMap<RepoName, RepoConfig<String>>,
}

impl Default for Values {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 3344)),
            socket: None,
            workspaces: PathBuf::from("~/build-workspaces"),
            key_file: None,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            log: LogFilter::default(),
            auth: AuthConfig::default(),
            tls: TlsConfig::default(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            git: GitConfig::default(),
            build: BuildConfig::default(),
            reaper: ReaperConfig::default(),
            history: HistoryConfig::default(),
            audit: AuditConfig::default(),
            mcp: McpConfig::default(),
            secrets: BTreeMap::new(),
            sandbox: SandboxConfig::default(),
            repos: BTreeMap::new(),
        }
    }
}
