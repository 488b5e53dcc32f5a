//! `[auth.jwt]`: callers whose tokens are signed with a key that is kept in a file here.

use std::path::PathBuf;
use std::time::Duration;

use jsonwebtoken::{Algorithm, AlgorithmFamily};
use schemars::JsonSchema;
use serde::Deserialize;

use super::config_file::Fault;
use super::duration;
use super::secret_file;

/// Of a set of keys, or of a secret.
const MAX_BYTES: usize = 256 * 1024;

/// Callers whose tokens are JWTs, signed with a key that is kept here. A token needs `exp` and `sub`; `nbf` counts where it
/// is there. Claims `repos` and `branches` (lists of globs) and `tid` (one of auth.tenants) bound where it counts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a section [auth.jwt]")]
pub struct JwtConfig {
    /// Public keys as PEM, one or several, or a JWK set (then a token's `kid` chooses); or for HS256, HS384 and HS512 a
    /// secret, mode 600, of at least 32, 48 or 64 characters. It is read again when it changes.
    #[schemars(extend("example" = "/etc/branchyard/jwt.pem"))]
    pub key_file: PathBuf,
    /// The algorithms that tokens may be signed with. A secret needs its own named, so that no key can be mistaken for one.
    #[serde(default)]
    #[schemars(with = "Vec<String>", extend("example" = ["RS256"], "x-default" = "those of the keys, RS256 for RSA"))]
    pub algorithms: Vec<Algorithm>,
    /// Who makes the tokens: their `iss`.
    #[schemars(extend("example" = "https://ci.example.org"))]
    pub issuer: String,
    /// Whom they have to be for: their `aud`.
    #[schemars(extend("example" = "branchyard"))]
    pub audience: String,
    /// How far apart the clocks may be, at most 5m.
    #[serde(
        default = "default_leeway",
        deserialize_with = "duration::clock_difference"
    )]
    pub leeway: Duration,
    /// The claim that names scopes: a text with spaces in it, or a list. With roles as well, what a role allows is narrowed
    /// to the scopes; names that are not known here count for nothing.
    #[serde(default = "default_scope_claim")]
    pub scope_claim: String,
    /// The claim that names roles, in the same manner.
    #[serde(default = "default_role_claim")]
    pub role_claim: String,
    /// The role of tokens that name neither a scope nor a role.
    #[schemars(extend("example" = "ui", "x-default" = "none, they may do nothing"))]
    pub default_role: Option<String>,
}

pub(super) fn default_leeway() -> Duration {
    Duration::from_secs(30)
}

pub(super) fn default_scope_claim() -> String {
    "scope".to_owned()
}

pub(super) fn default_role_claim() -> String {
    "roles".to_owned()
}

/// Whether one secret both makes and proves a signature.
pub(super) fn is_symmetric(algorithm: Algorithm) -> bool {
    algorithm.family() == AlgorithmFamily::Hmac
}

impl JwtConfig {
    pub fn is_secret(&self) -> bool {
        self.algorithms.iter().copied().any(is_symmetric)
    }

    /// What is in the key file now, or why it cannot be used.
    pub fn read_key(&self) -> Result<String, String> {
        let path = &self.key_file;
        let text = match self.is_secret() {
            true => secret_file::read_own(path, MAX_BYTES, "a secret")?,
            // It may be one that an administrator laid down for all to read.
            false => secret_file::read_public(path, MAX_BYTES)?,
        };
        match text.len() > MAX_BYTES {
            true => Err(format!("{} is too large for a key", path.display())),
            false => Ok(text),
        }
    }

    /// What no single key can get wrong.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let fault = |key, rule| Err(Fault::new(&["auth", "jwt", key], rule));
        for (key, text) in [("issuer", &self.issuer), ("audience", &self.audience)] {
            if text.is_empty() {
                return fault(key, "it is empty, and would be anybody's");
            }
        }
        if self.is_secret() && !self.algorithms.iter().copied().all(is_symmetric) {
            return fault(
                "algorithms",
                "a secret (HS256, HS384, HS512) cannot stand beside public keys: whoever knows a \
                 public key could sign with it; choose one kind",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(more: &str) -> Result<JwtConfig, toml::de::Error> {
        let text = format!("key_file = \"k\"\nissuer = \"i\"\naudience = \"a\"\n{more}");
        toml::from_str(&text)
    }

    #[test]
    fn little_has_to_be_said() {
        let jwt = section("").unwrap();
        assert_eq!(jwt.leeway, Duration::from_secs(30));
        assert_eq!(
            (jwt.scope_claim.as_str(), jwt.role_claim.as_str()),
            ("scope", "roles")
        );
        assert!(jwt.algorithms.is_empty() && !jwt.is_secret() && jwt.check().is_ok());
    }

    #[test]
    fn a_secret_never_stands_beside_public_keys() {
        let mixed = section("algorithms = [\"RS256\", \"HS256\"]").unwrap();
        assert!(mixed.check().is_err());
        let secret = section("algorithms = [\"HS256\", \"HS512\"]").unwrap();
        assert!(secret.check().is_ok() && secret.is_secret());
        for wrong in ["none", "None", "rs256", "HS1"] {
            assert!(
                section(&format!("algorithms = [{wrong:?}]")).is_err(),
                "{wrong}"
            );
        }
        assert!(
            section("leeway = \"1h\"").is_err(),
            "an hour is no difference of clocks"
        );
    }
}
