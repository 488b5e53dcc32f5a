//! The names of the environment variables that are ours.

pub(super) const CONFIG: &str = "BRANCHYARD_CONFIG";
pub(super) const LISTEN: &str = "BRANCHYARD_LISTEN";
pub(super) const WORKSPACES: &str = "BRANCHYARD_WORKSPACES";
pub(super) const SESSION_KEY_FILE: &str = "BRANCHYARD_SESSION_KEY_FILE";
pub(super) const SESSION_KEY: &str = "BRANCHYARD_SESSION_KEY";
pub(super) const REPOS: &str = "BRANCHYARD_REPOS";
pub(super) const LOG: &str = "BRANCHYARD_LOG";
/// For the client commands; the daemon ignores it.
pub(super) const URL: &str = "BRANCHYARD_URL";
/// The same: users of the command set it for good, and may start a daemon too.
const KEY_FILE: &str = "BRANCHYARD_KEY_FILE";
/// The same.
const CA_FILE: &str = "BRANCHYARD_CA_FILE";

/// All variables that the daemon and its client commands read. Any other `BRANCHYARD_*` is a misspelt name, or
/// comes from elsewhere: Kubernetes gives each pod variables of all services, such as `BRANCHYARD_SERVICE_HOST`
/// and `BRANCHYARD_PORT` for a service named branchyard.
pub(super) const KNOWN: [&str; 10] = [
    CONFIG,
    LISTEN,
    WORKSPACES,
    SESSION_KEY_FILE,
    SESSION_KEY,
    REPOS,
    LOG,
    URL,
    KEY_FILE,
    CA_FILE,
];
