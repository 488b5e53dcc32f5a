//! What the operator decided: built-in defaults, then a TOML file, then `BRANCHYARD_*` variables,
//! then flags, each over the one before, made into one validated [`Config`].
//!
//! It promises that a wrong key or value is refused at start, by file, line and column and with
//! what was expected; that every path in a [`Config`] is absolute and every name and URL parsed;
//! and that no error, `Debug` or `Display` of it shows a key, a password or a variable's value.
//! It is the only reader of the process environment: what others need of that, they find here.
//! It must not write anything, and it starts no process.

mod access;
mod after;
mod artifacts;
mod audit;
mod auth;
mod build;
mod code;
mod config_file;
mod count;
mod crash;
mod credential;
mod destination;
mod document;
mod duration;
mod environment;
mod error;
mod exposure;
mod flags;
mod forges;
mod git;
mod globs;
mod history;
mod hooks;
mod host;
mod include;
mod jwt;
mod kept;
mod key;
mod keys;
mod known_variables;
mod limits;
mod load;
mod log;
mod mark;
mod mcp;
mod oauth;
mod origin;
mod pipelines;
mod place;
mod port_range;
mod reach;
mod reaper;
mod redact;
mod repo;
mod repos;
mod reserved;
mod sandbox;
mod secret;
mod secret_file;
mod secret_user;
mod secrets;
mod setup;
mod signing;
mod size;
mod task;
mod timeouts;
mod tls;
mod url;
mod value;
mod values;
mod variable;
mod web_host;
mod webhook;

#[cfg(test)]
mod reference;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use branchyard_model::RepoName;

pub use access::Access;
pub use after::{After, AfterConfig, AfterKind};
pub use artifacts::{ArtifactsConfig, CachesConfig};
pub use audit::AuditConfig;
pub use auth::{AuthConfig, Role};
pub use build::{BuildConfig, MakeArg, SearchPath};
pub use code::{CodeConfig, ProgramName};
pub use crash::{crash_point, crash_variable};
pub use credential::{Credential, CredentialConfig, Scheme, Token};
pub use destination::Destination;
pub use environment::Environment;
pub use error::{ConfigError, InFile};
pub use exposure::exposes;
pub use flags::Flags;
pub use forges::{Forge, ForgeConfig, Forges};
pub use git::{GitConfig, Identity, Protocol};
pub use globs::{BranchGlobs, BuildOutput, FileGlobs, NameGlobs, RepoGlobs};
pub use history::HistoryConfig;
pub use hooks::HookSecrets;
pub use host::HostName;
pub use include::Include;
pub use jwt::JwtConfig;
pub use key::{SessionKey, random_hex};
pub use limits::Limits;
pub use load::Sources;
pub use log::LogFilter;
pub use mark::Mark;
pub use mcp::{McpConfig, Toolset};
pub use oauth::{OauthConfig, SecureUrl};
pub use origin::WebOrigin;
pub use pipelines::{
    ForkPulls, JobReuse, PipelinesConfig, PushRule, RepoJob, RepoPipelines, RetryOn, Statuses,
};
pub use port_range::{PORTS_EACH, PortRange};
pub use reach::{HttpConfig, SshConfig};
pub use reaper::{MergedAgentBranches, ReaperConfig};
pub use repo::{Filling, RepoConfig, WarmStart};
pub use reserved::{is_own_variable, is_reserved_variable};
pub use sandbox::{RepoSandbox, SandboxConfig};
pub use secret::{Secret, SecretConfig, SecretName, SecretValue};
pub use secret_user::{JobPath, SecretUser};
pub use secrets::{MAKE, Secrets};
pub use setup::{BRANCH_FILE, InputPath, InputPaths, OutputPath, Setup};
pub use signing::{AllowedSigners, SigningFormat, SigningKey};
pub use size::ByteSize;
pub use task::{Task, TaskName, Tool};
pub use timeouts::Timeouts;
pub use tls::{Pem, Stamp, Tls, TlsConfig, stamp};
pub use url::{RepoUrl, UrlPolicy};
pub use variable::{EnvName, EnvValue, is_secret_name};
pub use web_host::WebHost;
pub use webhook::{Webhook, WebhookConfig};

/// Where a daemon tells of itself if it has no `XDG_RUNTIME_DIR`, as in many containers: below the
/// home directory, as the XDG specification has it for what a program remembers.
pub const STATE_IN_HOME: &str = ".local/state";

/// Everything that the daemon was told, checked and complete. Keys of the file are described where they are declared, in
/// `values.rs` and the sections that it names.
#[derive(Debug, Clone)]
pub struct Config {
    pub listen: SocketAddr,
    pub socket: Option<PathBuf>,
    pub tls: Option<Tls>,
    pub workspaces: PathBuf,
    /// The key that opens everything: from a file, from a variable, or made at this start.
    pub session_key: SessionKey,
    /// With the name in `[tls]`.
    pub allowed_hosts: Vec<HostName>,
    pub allowed_origins: Vec<WebOrigin>,
    pub auth: AuthConfig,
    pub log: LogFilter,
    pub limits: Limits,
    pub timeouts: Timeouts,
    pub git: GitConfig,
    /// How remotes are reached: what `[git]` and `[repos.NAME]` say of that, found and checked.
    pub access: Access,
    pub build: BuildConfig,
    pub code: CodeConfig,
    /// What `[secrets]` names, and which runs are given which.
    pub secrets: Secrets,
    /// By which webhooks are told from forgeries.
    pub hooks: HookSecrets,
    /// Those that are told of commits.
    pub forges: Forges,
    /// Those who are told of pipelines.
    pub webhooks: BTreeMap<TaskName, Webhook>,
    /// Commands that are run when something has ended.
    pub after: BTreeMap<TaskName, After>,
    /// Where people reach the page, for links.
    pub public_url: Option<SecureUrl>,
    pub reaper: ReaperConfig,
    pub history: HistoryConfig,
    pub pipelines: PipelinesConfig,
    pub artifacts: ArtifactsConfig,
    pub caches: CachesConfig,
    pub audit: AuditConfig,
    pub mcp: McpConfig,
    pub sandbox: SandboxConfig,
    /// Files with secrets of the daemon's own, and the one that names them: no build is shown them.
    pub secret_files: Vec<PathBuf>,
    pub repos: BTreeMap<RepoName, RepoConfig>,
    /// All that a build inherits of the daemon's environment: `PATH` (or `build.path`) and `HOME`.
    pub build_env_base: BTreeMap<OsString, OsString>,
    /// The daemon's own `PATH`, by which its git and ssh are found.
    pub path: OsString,
    /// The daemon's home directory: git's network commands find ssh keys and credentials there.
    pub home: Option<PathBuf>,
    /// The ssh agent, for git's network commands only.
    pub ssh_auth_sock: Option<OsString>,
    /// `XDG_RUNTIME_DIR`: where clients of the same user look for the daemon first, and then in
    /// [`STATE_IN_HOME`].
    pub runtime_dir: Option<PathBuf>,
    /// How many files this process was allowed to have open when it was started: builds get no more
    /// from a daemon that needs more for itself. `None` is no limit.
    pub open_files: Option<u64>,
    /// Variables of the environment that start with `BRANCHYARD_` and that the daemon does not know.
    pub unknown_variables: Vec<String>,
}
