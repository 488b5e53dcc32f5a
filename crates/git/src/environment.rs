//! The environment of every git process; nothing of the daemon's own gets in.

use std::path::Path;

use super::credential::CredentialLease;
use super::{Error, Git, lfs};

/// Whether a git process is going to talk to the remote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkAccess {
    Here,
    Remote,
}

/// Configuration that outranks whatever a repository's own files say. It travels in the environment,
/// as `git -c` would pass it on, so that an argv shows only what was asked for.
const PINNED: [(&str, &str); 18] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.askPass", ""),
    // Forgets every helper that was named before.
    (HELPER, ""),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    // A redirect leads to a host and port that no check has seen.
    ("http.followRedirects", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.detachedHead", "false"),
    // Only what asks for it is signed, and only by these programs.
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("tag.forceSignAnnotated", "false"),
    ("gpg.program", "gpg"),
    ("gpg.openpgp.program", "gpg"),
    ("gpg.x509.program", "gpgsm"),
    ("gpg.ssh.program", "ssh-keygen"),
];
const HELPER: &str = "credential.helper";

impl Git {
    /// All that a git process in `dir` gets to see. One that may talk to the remote is also to be given
    /// the [`Git::lease`].
    pub fn environment(&self, dir: &Path, access: NetworkAccess) -> Vec<(String, String)> {
        let settings = self.settings();
        let protocols = match access {
            NetworkAccess::Remote => settings.protocols.as_str(),
            // A pull is from the store itself.
            NetworkAccess::Here => "file",
        };
        let mut env: Vec<(String, String)> = [
            ("PATH", settings.path.as_str()),
            ("HOME", &settings.home),
            ("LC_ALL", "C"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            // A build could plant refs/replace/*, and history would read differently for everyone.
            ("GIT_NO_REPLACE_OBJECTS", "1"),
            ("GIT_ALLOW_PROTOCOL", protocols),
            // Also outranks a `core.sshCommand` that somebody planted in a repository.
            ("GIT_SSH_COMMAND", &settings.ssh_command),
            ("GIT_EDITOR", ":"),
            ("GIT_PAGER", "cat"),
            ("GIT_AUTHOR_NAME", &settings.user_name),
            ("GIT_AUTHOR_EMAIL", &settings.user_email),
            ("GIT_COMMITTER_NAME", &settings.user_name),
            ("GIT_COMMITTER_EMAIL", &settings.user_email),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        env.extend(self.pinned(access));
        if let Some(socket) = &settings.ssh_auth_sock {
            env.push(("SSH_AUTH_SOCK".to_owned(), socket.clone()));
        }
        if let (NetworkAccess::Remote, Some(hosts)) = (access, &settings.no_proxy) {
            env.push(("NO_PROXY".to_owned(), hosts.clone()));
        }
        if let Some(above) = dir.parent() {
            // A workspace whose `.git` vanished must not be taken for a part of the store above it.
            let above = above.to_string_lossy().into_owned();
            env.push(("GIT_CEILING_DIRECTORIES".to_owned(), above));
        }
        env
    }

    /// The remote's credential, to be handed to a process with the environment of [`NetworkAccess::Remote`].
    pub fn lease(&self) -> Result<Option<CredentialLease>, Error> {
        let Some(credential) = &self.credential() else {
            return Ok(None);
        };
        let number = self.configuration(NetworkAccess::Remote).len();
        credential
            .lease(format!("GIT_CONFIG_VALUE_{number}"))
            .map(Some)
    }

    /// The configuration as variables. The value of the helper that answers for the remote comes with
    /// the loan: it is known only where git is started.
    fn pinned(&self, access: NetworkAccess) -> Vec<(String, String)> {
        let configuration = self.configuration(access);
        let mut count = configuration.len();
        let mut env = Vec::new();
        for (n, (key, value)) in configuration.into_iter().enumerate() {
            env.push((format!("GIT_CONFIG_KEY_{n}"), key.to_owned()));
            env.push((format!("GIT_CONFIG_VALUE_{n}"), value));
        }
        if access == NetworkAccess::Remote && self.credential().is_some() {
            env.push((format!("GIT_CONFIG_KEY_{count}"), HELPER.to_owned()));
            count += 1;
        }
        env.push(("GIT_CONFIG_COUNT".to_owned(), count.to_string()));
        env
    }

    fn configuration(&self, access: NetworkAccess) -> Vec<(&'static str, String)> {
        let pinned = PINNED.map(|(key, value)| (key, value.to_owned()));
        let mut configuration = Vec::from(pinned);
        if self.settings().lfs {
            configuration.extend(lfs::FILTER.map(|(key, value)| (key, value.to_owned())));
        }
        if access == NetworkAccess::Remote {
            let settings = self.settings();
            let proxy = settings.proxy.clone().map(|proxy| ("http.proxy", proxy));
            let ca_file = settings.ca_file.clone();
            configuration.extend(proxy);
            configuration.extend(ca_file.map(|file| ("http.sslCAInfo", file)));
            configuration.extend(self.public_host().as_ref().and_then(|host| host.pin()));
        }
        configuration
    }
}
