//! What the configuration file says, key by key.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::value;
use super::{
    AfterConfig, ArtifactsConfig, AuditConfig, AuthConfig, BuildConfig, CachesConfig, CodeConfig,
    ForgeConfig, GitConfig, HistoryConfig, HostName, Limits, LogFilter, McpConfig, PipelinesConfig,
    ReaperConfig, RepoConfig, SandboxConfig, SecretConfig, SecretName, SecureUrl, TaskName,
    Timeouts, TlsConfig, WebOrigin, WebhookConfig,
};
use branchyard_model::RepoName;

/// The keys of the file. Paths and repo URLs are as they were written; the rest is checked.
#[derive(Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Values {
    /// Where the daemon listens: an IP address and a port.
    #[serde(deserialize_with = "value::text")]
    #[schemars(schema_with = "value::described::<SocketAddr>")]
    pub listen: SocketAddr,
    /// A Unix socket to listen on as well, for the daemon's own user (mode 600). It is plain HTTP and needs the key like
    /// any other way in.
    #[schemars(extend("example" = "/run/branchyard/branchyard.sock"))]
    pub socket: Option<PathBuf>,
    /// The directory of stores, workspaces and state; one daemon each.
    pub workspaces: PathBuf,
    /// A file that holds the session key: at least 16 visible characters, mode 600.
    #[schemars(extend("example" = "~/.config/branchyard/key", "x-default" = "none, a new key at every start"))]
    pub key_file: Option<PathBuf>,
    /// Host names that requests may carry, besides loopback and the listen address.
    pub allowed_hosts: Vec<HostName>,
    /// Origins whose pages may call the daemon from a browser, such as "https://yard.example.org". The daemon's own page
    /// needs to be listed only where a proxy in front of the daemon adds the https.
    pub allowed_origins: Vec<WebOrigin>,
    /// Where people reach the page, for links in what others are told: https, or http to this machine.
    #[schemars(with = "Option<String>", extend("example" = "https://yard.example.org", "x-default" = "none, no links"))]
    pub public_url: Option<SecureUrl>,
    /// What is logged: error, warn, info, debug, trace, off, or a filter such as "info,branchyard=debug".
    pub log: LogFilter,
    pub auth: AuthConfig,
    pub tls: TlsConfig,
    pub limits: Limits,
    pub timeouts: Timeouts,
    pub git: GitConfig,
    pub build: BuildConfig,
    pub code: CodeConfig,
    pub reaper: ReaperConfig,
    pub history: HistoryConfig,
    pub pipelines: PipelinesConfig,
    pub artifacts: ArtifactsConfig,
    pub caches: CachesConfig,
    pub audit: AuditConfig,
    pub mcp: McpConfig,
    #[schemars(extend("example" = "npm"))]
    pub secrets: BTreeMap<SecretName, SecretConfig>,
    #[schemars(extend("example" = "github.com"))]
    pub forges: BTreeMap<String, ForgeConfig>,
    #[schemars(extend("example" = "chat"))]
    pub webhooks: BTreeMap<TaskName, WebhookConfig>,
    #[schemars(extend("example" = "mail"))]
    pub after: BTreeMap<TaskName, AfterConfig>,
    pub sandbox: SandboxConfig,
    #[schemars(extend("example" = "demo"))]
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
            public_url: None,
            log: LogFilter::known("info"),
            auth: AuthConfig::default(),
            tls: TlsConfig::default(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            git: GitConfig::default(),
            build: BuildConfig::default(),
            code: CodeConfig::default(),
            reaper: ReaperConfig::default(),
            history: HistoryConfig::default(),
            pipelines: PipelinesConfig::default(),
            artifacts: ArtifactsConfig::default(),
            caches: CachesConfig::default(),
            audit: AuditConfig::default(),
            mcp: McpConfig::default(),
            secrets: BTreeMap::new(),
            forges: BTreeMap::new(),
            webhooks: BTreeMap::new(),
            after: BTreeMap::new(),
            sandbox: SandboxConfig::default(),
            repos: BTreeMap::new(),
        }
    }
}
