//! `[git.ssh]` and `[git.http]`: the way to remotes.

use std::path::PathBuf;

use serde::Deserialize;

use super::value::{TextValue, text_value};

/// How git's ssh proves who it is, and which hosts it believes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section [git.ssh]")]
pub struct SshConfig {
    /// The private key, mode 600. Default: what ssh finds by itself.
    pub key_file: Option<PathBuf>,
    /// The keys of hosts that are spoken to; any other is refused. Default: those of ssh itself.
    pub known_hosts: Option<PathBuf>,
    /// Whether the agent of the daemon's environment may be asked. Default `true`.
    pub agent: bool,
}

/// How git gets to remotes over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section [git.http]")]
pub struct HttpConfig {
    /// The proxy. Default none, whatever the daemon's environment says.
    pub proxy: Option<ProxyUrl>,
    /// Hosts that are reached without the proxy; `.example.org` means all below it. Default none.
    pub no_proxy: Vec<DirectHost>,
    /// Certificates of authorities to trust, in place of the system's. Default: the system's.
    pub ca_file: Option<PathBuf>,
}

/// The URL of a proxy, without a password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyUrl(String);

/// A host, or the end of one, that is reached without a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectHost(String);

impl Default for SshConfig {
    fn default() -> Self {
        Self {
            key_file: None,
            known_hosts: None,
            agent: true,
        }
    }
}

impl ProxyUrl {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextValue for ProxyUrl {
    const EXPECTED: &'static str = r#"the URL of a proxy, such as "http://proxy.example.org:3128" or "socks5h://127.0.0.1:1080""#;

    fn from_text(text: &str) -> Result<Self, String> {
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
        Ok(Self(text.to_owned()))
    }
}
text_value!(ProxyUrl);

impl DirectHost {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TextValue for DirectHost {
    const EXPECTED: &'static str = r#"a host, the end of one or a network, such as "git.local", ".example.org" or "10.0.0.0/8""#;

    fn from_text(text: &str) -> Result<Self, String> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-:/[]*".contains(&b);
        match !text.is_empty() && text.bytes().all(plain) {
            true => Ok(Self(text.to_owned())),
            false => Err("it holds something that no host has".to_owned()),
        }
    }
}
text_value!(DirectHost);

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
            assert!(ProxyUrl::from_text(text).is_ok(), "{text}");
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
            assert!(ProxyUrl::from_text(text).is_err(), "{text}");
        }
    }

    #[test]
    fn hosts_without_a_proxy_stay_one_list() {
        assert!(DirectHost::from_text(".example.org").is_ok());
        assert!(DirectHost::from_text("10.0.0.0/8").is_ok());
        for text in ["", "a,b", "a b", "a\nb"] {
            assert!(DirectHost::from_text(text).is_err(), "{text:?}");
        }
    }
}
