//! The environment variables that are ours.

pub(super) const CONFIG: &str = "BRANCHYARD_CONFIG";
pub(super) const LISTEN: &str = "BRANCHYARD_LISTEN";
pub(super) const WORKSPACES: &str = "BRANCHYARD_WORKSPACES";
pub(super) const SESSION_KEY_FILE: &str = "BRANCHYARD_SESSION_KEY_FILE";
pub(super) const SESSION_KEY: &str = "BRANCHYARD_SESSION_KEY";
pub(super) const REPOS: &str = "BRANCHYARD_REPOS";
pub(super) const LOG: &str = "BRANCHYARD_LOG";

/// All variables that the daemon and its client commands read, and for the reference the flag or key that each stands
/// for. Any other `BRANCHYARD_*` is a misspelt name, or comes from elsewhere: Kubernetes gives each pod variables of all
/// services, such as `BRANCHYARD_SERVICE_HOST` and `BRANCHYARD_PORT` for a service named branchyard.
pub(super) const KNOWN: [(&str, &str); 10] = [
    (CONFIG, "`--config`: the configuration file"),
    (LISTEN, "`--listen`, `listen`"),
    (WORKSPACES, "`--workspaces`, `workspaces`"),
    (SESSION_KEY_FILE, "`--key-file`, `key_file`"),
    (
        SESSION_KEY,
        "the session key itself; it beats the file's `key_file`",
    ),
    (
        REPOS,
        "`[repos]`: name=url pairs, separated by spaces, commas or newlines",
    ),
    (LOG, "`log`"),
    (
        "BRANCHYARD_URL",
        "for the client commands: where the daemon is",
    ),
    // Users of the command set it for good, and may start a daemon too.
    (
        "BRANCHYARD_KEY_FILE",
        "for the client commands: a file with the key to send, or the whole header line",
    ),
    (
        "BRANCHYARD_CA_FILE",
        "for the client commands: certificate authorities to trust",
    ),
];
