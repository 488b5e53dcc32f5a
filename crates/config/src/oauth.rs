//! `[auth.oauth]`: callers whose tokens come from an OAuth issuer, which publishes its keys.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ::url::{Host, Url};
use jsonwebtoken::Algorithm;
use schemars::JsonSchema;
use serde::Deserialize;

use super::config_file::Fault;
use super::duration;
use super::jwt::{default_leeway, default_role_claim, default_scope_claim, is_symmetric};
use super::value::{self, TextValue, text_value};

/// Callers whose tokens come from an OAuth issuer. The keys are those that the issuer publishes; they are looked at again
/// as it says, and at once when a token names a new one. Tokens are JWTs as in `[auth.jwt]`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a section [auth.oauth]")]
pub struct OauthConfig {
    /// The issuer: its tokens' `iss`, and where its metadata are found. Https, or http to this machine.
    #[schemars(extend("example" = "https://login.example.org/team"))]
    pub issuer: SecureUrl,
    /// The URL by which clients know this daemon; tokens have to be for it.
    #[schemars(extend("example" = "https://yard.example.org/mcp"))]
    pub audience: SecureUrl,
    /// Where the issuer's keys are.
    #[schemars(extend("example" = "https://login.example.org/team/keys", "x-default" = "where its metadata say"))]
    pub jwks_uri: Option<SecureUrl>,
    /// The algorithms that tokens may be signed with; those of public keys only.
    #[serde(default = "default_algorithms")]
    #[schemars(with = "Vec<String>")]
    pub algorithms: Vec<Algorithm>,
    /// How far apart the clocks may be, at most 5m.
    #[serde(
        default = "default_leeway",
        deserialize_with = "duration::clock_difference"
    )]
    pub leeway: Duration,
    /// How soon the issuer is asked again for a key that it did not have.
    #[serde(default = "default_refetch", deserialize_with = "value::text")]
    pub refetch: Duration,
    /// The claim that names scopes, as in `[auth.jwt]`.
    #[serde(default = "default_scope_claim")]
    pub scope_claim: String,
    /// The claim that names roles.
    #[serde(default = "default_role_claim")]
    pub role_claim: String,
    /// The role of tokens that name neither a scope nor a role.
    #[schemars(extend("example" = "ui", "x-default" = "none, they may do nothing"))]
    pub default_role: Option<String>,
    /// Certificate authorities to trust in place of the system's.
    #[schemars(extend("example" = "/etc/ssl/private-ca.pem"))]
    pub ca_file: Option<PathBuf>,
}

/// A URL that nobody between here and there can read along or answer for: `https`, or `http` to this very
/// machine. It keeps its spelling, for issuers and audiences are compared as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecureUrl {
    text: String,
    url: Url,
}

fn default_algorithms() -> Vec<Algorithm> {
    use Algorithm as A;
    vec![A::RS256, A::PS256, A::ES256, A::EdDSA]
}

fn default_refetch() -> Duration {
    Duration::from_secs(10)
}

impl OauthConfig {
    /// What no single key can get wrong.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let fault = |key, rule| Err(Fault::new(&["auth", "oauth", key], rule));
        for (key, url) in [("issuer", &self.issuer), ("audience", &self.audience)] {
            if url.url.query().is_some() {
                return fault(key, "a URL that names somebody has no query");
            }
        }
        if self.algorithms.is_empty() || self.algorithms.iter().copied().any(is_symmetric) {
            return fault(
                "algorithms",
                "an issuer's keys are public, so it takes algorithms of public keys: RS256, PS256, \
                 ES256, EdDSA and their like",
            );
        }
        Ok(())
    }
}

impl SecureUrl {
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The URL, or the rule that it breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|error| error.to_string())?;
        let is_secure = match url.scheme() {
            "https" => url.host().is_some(),
            "http" => is_this_machine(&url),
            _ => false,
        };
        if !is_secure {
            return Err("it is neither https nor http to 127.0.0.1, [::1] or localhost".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a user or password has no place in it".to_owned());
        }
        if url.fragment().is_some() {
            return Err("it has a fragment".to_owned());
        }
        // It stands between quotes in a header.
        if !text
            .bytes()
            .all(|b| b.is_ascii_graphic() && b != b'"' && b != b'\\')
        {
            return Err("it holds a character that no URL has".to_owned());
        }
        let text = text.to_owned();
        Ok(Self { text, url })
    }
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => IpAddr::V4(ip).is_loopback(),
        Some(Host::Ipv6(ip)) => IpAddr::V6(ip).is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

impl TextValue for SecureUrl {
    const EXPECTED: &'static str = r#"a URL such as "https://login.example.org/team""#;

    fn from_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}
text_value!(SecureUrl);

impl fmt::Display for SecureUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_secure_or_refused() {
        for text in [
            "https://login.example.org",
            "https://login.example.org/team/",
            "https://10.0.0.5:8443",
            "http://127.0.0.1:8080/x",
            "http://[::1]:1",
            "http://localhost:3344/mcp",
        ] {
            assert_eq!(SecureUrl::parse(text).unwrap().as_str(), text);
        }
        for text in [
            "",
            "login.example.org",
            "http://login.example.org",
            "http://localhost.example.org",
            "http://127.0.0.1.example.org",
            "ftp://127.0.0.1",
            "file:///etc/passwd",
            "https://me@login.example.org",
            "https://me:pw@login.example.org",
            "https://login.example.org#x",
            "https://login.example.org/a b",
            "https://login.example.org/\"",
        ] {
            assert!(SecureUrl::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_issuer_signs_with_keys_of_its_own() {
        let section = |more: &str| -> OauthConfig {
            let text = format!("issuer = \"https://i\"\naudience = \"https://a\"\n{more}");
            toml::from_str(&text).unwrap()
        };
        assert!(section("").check().is_ok());
        assert!(section("algorithms = []").check().is_err());
        assert!(
            section("algorithms = [\"RS256\", \"HS256\"]")
                .check()
                .is_err()
        );
    }
}
