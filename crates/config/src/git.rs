//! `[git]`: which remotes may be used, and who commits.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::config_file::Fault;
use super::signing::{AllowedSigners, SigningFormat, SigningKey};
use super::value::{self, Text, TextKind};
use super::{BranchGlobs, CredentialConfig, HostName, HttpConfig, SshConfig};

/// Which remotes may be used, who commits, and what is protected.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [git]")]
pub struct GitConfig {
    /// Whether repositories on this machine (file:///path, /path) may be used, also by callers who register repos.
    pub allow_local: bool,
    /// The network protocols that may be used; repositories on this machine are allowed by `allow_local`.
    pub allow_protocols: Vec<Protocol>,
    /// Loopback, link-local and private hosts, and names that lead to such, that callers may register repos of. Those in
    /// this file need not be listed.
    pub allow_hosts: Vec<HostName>,
    /// How old what a remote said of a branch may be, for a workspace to be brought up to date with it: within that time
    /// nothing is asked and no process is started, and a commit that was just pushed may not be seen. "0s": every request
    /// asks. (Requests that come together always share one question.)
    #[serde(deserialize_with = "value::text")]
    pub freshness: Duration,
    /// Branches that take the scope admin to create, change or push to: globs, in which `*` stays within a segment and `**`
    /// crosses them. The default branch and the branches of a repo's secrets are protected besides.
    pub protected: BranchGlobs,
    /// The name in commits that the daemon writes.
    pub user_name: Identity,
    /// The address in commits that the daemon writes.
    pub user_email: Identity,
    /// What commits and tags that are made through git_commit and git_tag are signed with: the absolute path of an ssh key
    /// without a passphrase, or, with "openpgp", the id of a key that gpg has.
    #[schemars(extend("example" = "/etc/branchyard/signing_key", "x-default" = "none, nothing is signed"))]
    pub signing_key: Option<SigningKey>,
    /// What kind of key that is.
    pub signing_format: SigningFormat,
    /// Whose ssh signatures are known when a tag is verified, as `ssh-keygen -Y verify` reads it.
    #[schemars(extend("example" = "/etc/branchyard/allowed_signers"))]
    pub allowed_signers: Option<AllowedSigners>,
    /// What opens remotes over HTTP, by host: "git.example.org" is https at its usual port, with a port
    /// ("git.example.org:8443") exactly that. The token stands in a variable of the daemon's environment or in a file, mode
    /// 600, which is read each time it is needed, so that it can be renewed; never in this file.
    #[schemars(extend("example" = "git.example.org", "x-name" = "HOST"))]
    pub credentials: BTreeMap<String, CredentialConfig>,
    pub ssh: SshConfig,
    pub http: HttpConfig,
}

const PROTECTED: [&str; 6] = [
    "main",
    "master",
    "production",
    "prod",
    "develop",
    "release/**",
];

/// A network protocol of git's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    Https,
    Ssh,
    Http,
    Git,
}

/// A name or address that git can write into a commit as it stands.
pub type Identity = Text<Identities>;

#[derive(Clone, PartialEq, Eq)]
pub enum Identities {}

impl GitConfig {
    /// The value of `GIT_ALLOW_PROTOCOL`: git itself then refuses every other transport, also
    /// those that a redirect or a submodule names.
    pub fn allowed_protocols_env(&self) -> String {
        let mut names: Vec<_> = self.allow_protocols.iter().map(|p| p.as_str()).collect();
        if self.allow_local {
            names.push("file");
        }
        names.join(":")
    }

    /// What no single key can get wrong.
    pub(super) fn check(&self) -> Result<(), Fault> {
        match &self.signing_key {
            Some(key) if self.signing_format == SigningFormat::Ssh && !key.is_path() => {
                Err(Fault::new(
                    &["git", "signing_key"],
                    "with git.signing_format = \"ssh\" the key is the absolute path of a private key",
                ))
            }
            _ => Ok(()),
        }
    }
}

impl Default for GitConfig {
    fn default() -> Self {
        Self {
            allow_local: false,
            allow_protocols: vec![Protocol::Https, Protocol::Ssh],
            allow_hosts: Vec::new(),
            freshness: Duration::ZERO,
            protected: BranchGlobs::of(&PROTECTED),
            user_name: Identity::known("Branchyard"),
            user_email: Identity::known("branchyard@localhost"),
            signing_key: None,
            signing_format: SigningFormat::Ssh,
            allowed_signers: None,
            credentials: BTreeMap::new(),
            ssh: SshConfig::default(),
            http: HttpConfig::default(),
        }
    }
}

impl Protocol {
    const ALL: [Self; 4] = [Self::Https, Self::Ssh, Self::Http, Self::Git];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Ssh => "ssh",
            Self::Http => "http",
            Self::Git => "git",
        }
    }

    /// The protocol of a URL's scheme, which is lower-case for git.
    pub(super) fn of_scheme(scheme: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.as_str() == scheme)
    }
}

impl TextKind for Identities {
    const EXPECTED: &'static str =
        r#"a name or an address such as "Branchyard" or "branchyard@localhost""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        if text.chars().any(|c| c.is_control() || "<>".contains(c)) {
            return Err("'<', '>' and control characters have no place in a commit".to_owned());
        }
        // git drops these from both ends, and refuses a name that has nothing else.
        if text
            .chars()
            .all(|c| c.is_whitespace() || ".,:;\"\\'".contains(c))
        {
            return Err("it is empty".to_owned());
        }
        Ok(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn git_is_told_what_is_allowed_and_nothing_else() {
        let mut git = GitConfig::default();
        assert_eq!(git.allowed_protocols_env(), "https:ssh");
        git.allow_local = true;
        assert_eq!(git.allowed_protocols_env(), "https:ssh:file");
        git.allow_protocols = vec![];
        git.allow_local = false;
        assert_eq!(git.allowed_protocols_env(), "");
    }

    #[test]
    fn transports_that_run_commands_cannot_be_allowed() {
        for name in ["ext", "fd", "file", "HTTPS", "ftp", ""] {
            let text = format!("allow_protocols = [{name:?}]");
            let refused = toml::from_str::<GitConfig>(&text).is_err();
            assert!(refused, "{name} was accepted");
        }
    }

    #[test]
    fn an_identity_is_one_that_git_can_write() {
        for text in ["", " ", "a\nb", "a <b>", "...", "a\0"] {
            assert!(Identity::parse(text).is_err(), "{text:?} was accepted");
        }
        assert!(Identity::parse("Jürgen O'Neill, Jr.").is_ok());
    }
}
