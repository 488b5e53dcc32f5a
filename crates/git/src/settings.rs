//! What git commands need to know of the configuration.

use std::path::PathBuf;
use std::time::Duration;

use super::Signing;

/// What the wrapper needs to know of the configuration.
#[derive(Debug, Clone)]
pub struct Settings {
    pub path: String,
    pub home: String,
    pub ssh_auth_sock: Option<String>,
    /// Value of `GIT_SSH_COMMAND`.
    pub ssh_command: String,
    pub proxy: Option<String>,
    /// Hosts that are reached without the proxy, separated by commas.
    pub no_proxy: Option<String>,
    /// Certificate authorities to trust in place of the system's.
    pub ca_file: Option<String>,
    /// This program, by a path that git can start it by.
    pub program: PathBuf,
    pub user_name: String,
    pub user_email: String,
    /// Value of `GIT_ALLOW_PROTOCOL`.
    pub protocols: String,
    /// Whether git-lfs is there.
    pub lfs: bool,
    /// How old what a remote said may be to bring a workspace up to date with.
    pub freshness: Duration,
    /// How long a remote may take to list its refs.
    pub remote_timeout: Duration,
    /// How long a transfer may go without progress.
    pub stall_timeout: Duration,
    /// How long a transfer may take.
    pub fetch_timeout: Duration,
    pub checkout_workers: usize,
    /// Of the machine, in bytes.
    pub memory: u64,
    pub signing: Signing,
}

/// The most that a git which only reads may allocate: history and trees of any honest size fit.
const MEMORY_TO_READ: u64 = 1 << 30;

impl Settings {
    /// How many bytes a git process may allocate: a tree may name the same few objects a hundred million times.
    pub(super) fn memory_for(&self, reads: bool) -> u64 {
        match reads {
            true => MEMORY_TO_READ.min(self.memory / 2),
            false => self.memory / 2,
        }
    }
}

#[cfg(test)]
impl Settings {
    /// For repositories of a test's own, and no remote.
    pub fn for_tests() -> Self {
        Self {
            path: env!("PATH").to_owned(),
            home: "/nonexistent".to_owned(),
            ssh_auth_sock: None,
            ssh_command: "ssh".to_owned(),
            proxy: None,
            no_proxy: None,
            ca_file: None,
            program: "branchyard".into(),
            user_name: "Test".to_owned(),
            user_email: "test@localhost".to_owned(),
            protocols: "file".to_owned(),
            lfs: false,
            freshness: Duration::ZERO,
            remote_timeout: Duration::from_secs(10),
            stall_timeout: Duration::from_secs(10),
            fetch_timeout: Duration::from_secs(10),
            checkout_workers: 1,
            memory: 8 << 30,
            signing: Signing {
                key: None,
                format: branchyard_config::SigningFormat::Ssh,
                allowed_signers: None,
            },
        }
    }
}
