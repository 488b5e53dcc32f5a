//! Where a remote listens for HTTP: what a credential is for, and nothing else.

use ::url::Url;

use super::HostName;

/// A host and port of `https` or `http`, equal however they are written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WebHost {
    tls: bool,
    host: HostName,
    port: u16,
}

/// A host, with or without a port, that a credential is configured for. Without a port `https` at its
/// usual one is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CredentialHost {
    host: HostName,
    port: Option<u16>,
}

impl WebHost {
    /// Of a URL; `None` for one that is not HTTP.
    pub fn of_url(url: &str) -> Option<Self> {
        let url = Url::parse(url).ok()?;
        let tls = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        Some(Self {
            tls,
            host: HostName::parse(url.host_str()?).ok()?,
            port: url.port_or_known_default()?,
        })
    }

    /// As git names it to a credential helper: the protocol, and the host with or without a port.
    pub fn read(protocol: &str, host: &str) -> Option<Self> {
        if host.contains(['/', '@', '?', '#', '\\']) {
            return None;
        }
        Self::of_url(&format!("{protocol}://{host}/"))
    }

    pub fn protocol(&self) -> &'static str {
        match self.tls {
            true => "https",
            false => "http",
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The host and its port.
    pub fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

impl CredentialHost {
    pub(crate) fn parse(text: &str) -> Result<Self, &'static str> {
        const RULE: &str = "it is not a host, with or without a port, such as \"git.example.org\" or \"10.0.0.5:8443\"";
        let host = WebHost::read("https", text).ok_or(RULE)?;
        Ok(Self {
            host: host.host,
            port: (host.port != 443).then_some(host.port),
        })
    }

    pub(crate) fn covers(&self, web: &WebHost) -> bool {
        let port = match self.port {
            Some(port) => port == web.port,
            None => web.tls && web.port == 443,
        };
        port && self.host == web.host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_place_is_one_value_however_it_is_written() {
        let place = WebHost::of_url("https://Git.Example.org/a/b.git").unwrap();
        for (protocol, host) in [
            ("https", "git.example.org"),
            ("https", "git.example.org:443"),
            ("https", "GIT.example.org."),
        ] {
            assert_eq!(WebHost::read(protocol, host), Some(place.clone()), "{host}");
        }
        for (protocol, host) in [
            ("http", "git.example.org"),
            ("https", "git.example.org:8443"),
            ("https", "example.org"),
            ("https", "git.example.org.evil.example"),
            ("https", "git.example.org@evil.example"),
            ("https", "evil.example/git.example.org"),
            ("ssh", "git.example.org"),
            ("https", ""),
        ] {
            assert_ne!(WebHost::read(protocol, host), Some(place.clone()), "{host}");
        }
    }

    #[test]
    fn a_credential_covers_what_was_named_and_no_more() {
        let covers = |host: &str, url: &str| {
            let host = CredentialHost::parse(host).unwrap();
            host.covers(&WebHost::of_url(url).unwrap())
        };
        assert!(covers("host", "https://host/a"));
        assert!(covers("host", "https://host:443/a"));
        assert!(!covers("host", "http://host/a"), "not in plain text");
        assert!(!covers("host", "https://host:8443/a"));
        assert!(covers("host:8443", "https://host:8443/a"));
        assert!(covers("127.0.0.1:80", "http://127.1/a"));
        assert!(covers("[::1]:8080", "http://[::1]:8080/a"));
        assert!(!covers("host:8443", "https://other:8443/a"));
        for text in ["", "https://host", "host/a", "me@host", "host:x", "a b"] {
            assert!(CredentialHost::parse(text).is_err(), "{text}");
        }
    }
}
