//! `[git.ssh]` and `[git.http]`: the way to remotes.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::value::{Text, TextKind};

/// How git's ssh proves who it is. Hosts whose keys are not known are always refused.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [git.ssh]")]
pub struct SshConfig {
    /// The private key, mode 600.
    #[schemars(extend("example" = "~/.ssh/id_ed25519", "x-default" = "what ssh finds in ~/.ssh"))]
    pub key_file: Option<PathBuf>,
    /// The keys of hosts.
    #[schemars(extend("example" = "~/.ssh/known_hosts", "x-default" = "those of ssh itself"))]
    pub known_hosts: Option<PathBuf>,
    /// Whether the ssh agent of the daemon's environment may be asked.
    pub agent: bool,
}

/// How git gets to remotes over HTTP, whatever the daemon's environment says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [git.http]")]
pub struct HttpConfig {
    /// A proxy on the way to all remotes but those of `no_proxy`.
    #[schemars(extend("example" = "http://proxy.example.org:3128"))]
    pub proxy: Option<ProxyUrl>,
    /// Hosts that are reached without the proxy; ".example.org" means all below it.
    pub no_proxy: Vec<DirectHost>,
    /// Certificate authorities to trust in place of the system's.
    #[schemars(extend("example" = "/etc/ssl/private-ca.pem"))]
    pub ca_file: Option<PathBuf>,
}

/// The URL of a proxy, without a password.
pub(super) type ProxyUrl = Text<Proxies>;
/// A host, or the end of one, that is reached without a proxy.
pub(super) type DirectHost = Text<DirectHosts>;

#[derive(Clone, PartialEq, Eq)]
pub enum Proxies {}
#[derive(Clone, PartialEq, Eq)]
pub enum DirectHosts {}

impl Default for SshConfig {
    fn default() -> Self {
        Self {
            key_file: None,
            known_hosts: None,
            agent: true,
        }
    }
}

impl TextKind for Proxies {
    const EXPECTED: &'static str = r#"the URL of a proxy, such as "http://proxy.example.org:3128" or "socks5h://127.0.0.1:1080""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];
        let url = ::url::Url::parse(text).map_err(|error| error.to_string())?;
        if !SCHEMES.contains(&url.scheme()) || url.host_str().is_none_or(str::is_empty) {
            return Err("it is not a proxy's URL".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a user or password has no place in it".to_owned());
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err("it has a path, a query or a fragment".to_owned());
        }
        Ok(text.into())
    }
}
impl TextKind for DirectHosts {
    const EXPECTED: &'static str = r#"a host, the end of one or a network, such as "git.local", ".example.org" or "10.0.0.0/8""#;

    fn read(text: &str) -> Result<Cow<'_, str>, String> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-:/[]*".contains(&b);
        match !text.is_empty() && text.bytes().all(plain) {
            true => Ok(text.into()),
            false => Err("it holds something that no host has".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_a_place_and_no_secret() {
        for text in [
            "http://proxy:3128",
            "https://proxy.example.org",
            "socks5h://127.0.0.1:1080",
            "http://[::1]:1/",
        ] {
            assert!(ProxyUrl::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "proxy:3128",
            "ftp://proxy",
            "http://user@proxy",
            "http://user:pw@proxy",
            "http://proxy/path",
            "http://proxy?x",
        ] {
            assert!(ProxyUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_without_a_proxy_stay_one_list() {
        assert!(DirectHost::parse(".example.org").is_ok());
        assert!(DirectHost::parse("10.0.0.0/8").is_ok());
        for text in ["", "a,b", "a b", "a\nb"] {
            assert!(DirectHost::parse(text).is_err(), "{text:?}");
        }
    }
}
