//! Remote URLs: which ones may be used, by whom. Nothing that could be a credential is accepted,
//! kept or echoed.

mod grammar;

use std::fmt;

use serde::{Serialize, Serializer};

use super::{GitConfig, HostName};
use branchyard_model::Problem;
use grammar::{Form, Refusal};

/// The validated URL of a remote, in one of the forms `https://host/path` (also `ssh`, `http` and
/// `git`), `user@host:path`, `file:///path` and `/path`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RepoUrl {
    text: String,
    local: bool,
}

/// Whose URL it is, and so how far it is trusted. Both levels obey `git.allow_protocols` and
/// `git.allow_local`.
#[derive(Debug, Clone, Copy)]
pub struct UrlPolicy<'a> {
    git: &'a GitConfig,
    any_host: bool,
}

impl RepoUrl {
    /// The URL, or a problem with the field `url` that quotes no part that could be a secret.
    pub fn parse(text: &str, policy: &UrlPolicy<'_>) -> Result<Self, Problem> {
        let form = grammar::read(text)
            .and_then(|form| policy.allow(form))
            .map_err(|Refusal { rule, help }| {
                Problem::bad("url", format!("this repository URL cannot be used: {rule}"))
                    .help(help)
            })?;
        Ok(Self {
            text: text.to_owned(),
            local: form == Form::Local,
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host, where it is a name that could lead anywhere and that the operator has not allowed by name.
    pub fn named_host(&self, git: &GitConfig) -> Option<HostName> {
        match grammar::read(&self.text) {
            Ok(Form::Remote { host, .. })
                if host.address().is_none() && !git.allow_hosts.contains(&host) =>
            {
                Some(host)
            }
            _ => None,
        }
    }

    /// The host that it is on, if it is not on this machine.
    pub fn host(&self) -> Option<HostName> {
        match grammar::read(&self.text) {
            Ok(Form::Remote { host, .. }) => Some(host),
            _ => None,
        }
    }

    /// Whether the repository is on this machine.
    pub fn is_local(&self) -> bool {
        self.local
    }
}

impl<'a> UrlPolicy<'a> {
    /// For URLs from the operator's file and environment: any host.
    pub fn operator(git: &'a GitConfig) -> Self {
        Self {
            git,
            any_host: true,
        }
    }

    /// For URLs that callers register: no inner address in any spelling, unless it is in
    /// `git.allow_hosts`. A public name that leads to an inner address is not found here, but where it is
    /// looked up, before each use.
    pub fn caller(git: &'a GitConfig) -> Self {
        Self {
            git,
            any_host: false,
        }
    }

    fn allow(&self, form: Form) -> Result<Form, Refusal> {
        match &form {
            Form::Local if !self.git.allow_local => Err(Refusal::new(
                "repositories on this machine are not allowed here",
                "the operator allows them by git.allow_local",
            )),
            Form::Remote { protocol, .. } if !self.git.allow_protocols.contains(protocol) => {
                Err(Refusal::new(
                    format!("the protocol {:?} is not allowed here", protocol.as_str()),
                    "the operator allows protocols by git.allow_protocols",
                ))
            }
            Form::Remote { host, .. }
                if !self.any_host && host.is_internal() && !self.git.allow_hosts.contains(host) =>
            {
                Err(Refusal::new(
                    format!(
                        "the host {host} is a loopback, link-local, private or otherwise inner one"
                    ),
                    "the operator allows such hosts by git.allow_hosts",
                ))
            }
            _ => Ok(form),
        }
    }
}

impl fmt::Display for RepoUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for RepoUrl {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;
    use branchyard_model::ErrorKind;

    fn everything() -> GitConfig {
        GitConfig {
            allow_local: true,
            allow_protocols: vec![
                Protocol::Https,
                Protocol::Ssh,
                Protocol::Http,
                Protocol::Git,
            ],
            ..GitConfig::default()
        }
    }

    fn accepted(url: &str, policy: UrlPolicy<'_>) -> bool {
        match RepoUrl::parse(url, &policy) {
            Ok(parsed) => {
                assert_eq!(parsed.as_str(), url);
                true
            }
            Err(problem) => {
                assert_eq!(problem.kind, ErrorKind::BadRequest);
                assert_eq!(problem.field.as_deref(), Some("url"));
                assert!(problem.help.is_some());
                false
            }
        }
    }

    #[test]
    fn transports_are_what_the_operator_allows() {
        let (default, all) = (GitConfig::default(), everything());
        for (url, by_default) in [
            ("https://github.com/a/b.git", true),
            ("ssh://git@github.com/a/b", true),
            ("git@github.com:a/b.git", true),
            ("http://github.com/a/b", false),
            ("git://github.com/a/b", false),
            ("file:///srv/a.git", false),
            ("/srv/a.git", false),
            ("/srv/with space/a.git", false),
            ("file:///etc", false),
            ("/etc", false),
        ] {
            for policy in [UrlPolicy::operator, UrlPolicy::caller] {
                assert_eq!(accepted(url, policy(&default)), by_default, "{url}");
                assert!(accepted(url, policy(&all)), "{url}");
            }
        }
        let no_ssh = GitConfig {
            allow_protocols: vec![Protocol::Https],
            ..GitConfig::default()
        };
        assert!(!accepted(
            "git@github.com:a/b.git",
            UrlPolicy::operator(&no_ssh)
        ));
    }

    #[test]
    fn inner_hosts_are_for_the_operator_only() {
        let git = everything();
        for host in [
            "localhost",
            "x.localhost",
            "127.0.0.1",
            "127.1",
            "0x7f000001",
            "2130706433",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "169.254.169.254",
            "10.0.0.1",
            "192.168.0.1",
            "0.0.0.0",
            "224.0.0.1",
            "[fe80::1]",
        ] {
            for url in [
                format!("https://{host}/a"),
                format!("https://{host}:8443/a"),
                format!("http://{host}/a"),
                format!("git://{host}/a"),
                format!("ssh://git@{host}:22/a"),
                format!("git@{host}:a"),
                format!("{host}:a"),
            ] {
                assert!(accepted(&url, UrlPolicy::operator(&git)), "{url}");
                assert!(!accepted(&url, UrlPolicy::caller(&git)), "{url}");
            }
        }
    }

    #[test]
    fn an_inner_host_can_be_opened_to_callers_in_any_spelling() {
        let git = GitConfig {
            allow_hosts: vec![HostName::parse("127.0.0.1").unwrap()],
            ..everything()
        };
        assert!(accepted("http://127.0.0.1:8080/a", UrlPolicy::caller(&git)));
        assert!(accepted("http://127.1/a", UrlPolicy::caller(&git)));
        assert!(!accepted("http://127.0.0.2/a", UrlPolicy::caller(&git)));
        assert!(!accepted("http://localhost/a", UrlPolicy::caller(&git)));
    }

    #[test]
    fn a_url_knows_whether_it_is_local() {
        let git = everything();
        let local = |url| {
            RepoUrl::parse(url, &UrlPolicy::operator(&git))
                .unwrap()
                .is_local()
        };
        assert!(local("/srv/a.git"));
        assert!(local("file:///srv/a.git"));
        assert!(!local("git@github.com:a/b"));
        assert!(!local("https://github.com/a/b"));
    }

    #[test]
    fn a_problem_never_holds_the_secret_of_a_url() {
        let git = everything();
        for url in [
            "https://user:S3CRET@host/a",
            "https://S3CRET@host/a",
            "https://user:p@S3CRET@host/a",
            "https://user:S3CRET/x@host/a",
            "https://host/a?token=S3CRET",
            "https://host/a#S3CRET",
            "https://host:S3CRET/a",
            "ssh://user:S3CRET@host/a",
            "user:S3CRET@host:a",
            "user:S3CRET@host/a",
            "ftp://user:S3CRET@host/a",
            "HTTPS://user:S3CRET@host/a",
            "https:user:S3CRET@host/a",
            "ext::sh -c S3CRET",
            "file://user:S3CRET@host/a",
        ] {
            let problem = RepoUrl::parse(url, &UrlPolicy::operator(&git)).expect_err(url);
            assert!(
                !format!("{problem:?}").contains("S3CRET"),
                "{url}: {problem:?}"
            );
        }
        let problem =
            RepoUrl::parse("https://u:S3CRET@host/a", &UrlPolicy::caller(&git)).unwrap_err();
        assert_eq!(
            problem.help.as_deref(),
            Some(
                "keep credentials out of URLs: name where the token is kept, in \
                 [git.credentials.\"HOST\"] or [repos.NAME.credential], or use ssh"
            )
        );
    }
}
