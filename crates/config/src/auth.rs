//! `[auth]`: who may come in besides the holder of the session key, and as what.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::fault::Fault;
use super::value::{TextValue, text_value};
use super::{JwtConfig, OauthConfig, RepoConfig, RepoGlobs, SandboxConfig, Toolset};
use branchyard_model::{RepoName, SandboxProfile, Scope, Scopes};

/// The session key always opens everything, and tokens always work; the rest is what is written here.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, expecting = "a section [auth]")]
pub struct AuthConfig {
    /// The role of callers who show no credential at all; only where the daemon listens on loopback alone,
    /// and only where every build has the sandbox profile `strict`. Default none: they are refused.
    pub none: Option<String>,
    /// Named sets of scopes and tools: the four there are, and what is added here.
    #[serde(deserialize_with = "with_the_known")]
    pub roles: BTreeMap<String, Role>,
    /// Which repos the callers of a tenant may see, by the `tid` of their JWT. Default none: a tenant that is
    /// not listed sees no repo.
    pub tenants: BTreeMap<String, RepoGlobs>,
    /// Tokens that are signed with a key of ours. Default none.
    pub jwt: Option<JwtConfig>,
    /// Tokens of an OAuth issuer. Default none.
    pub oauth: Option<OauthConfig>,
}

/// What somebody may do, by name.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a section [auth.roles.NAME]")]
pub struct Role {
    /// What may be done. Required.
    #[serde(deserialize_with = "scopes")]
    pub scopes: Scopes,
    /// The sets of MCP tools that it gets. Default none.
    #[serde(default)]
    pub toolsets: Vec<Toolset>,
}

impl Role {
    fn new(scopes: &[Scope], toolsets: &[Toolset]) -> Self {
        Self {
            scopes: scopes.iter().copied().collect(),
            toolsets: toolsets.to_vec(),
        }
    }
}

impl AuthConfig {
    /// What no single key can get wrong.
    pub(super) fn check(&self, is_loopback: bool) -> Result<(), Fault> {
        self.check_issuers()?;
        let Some(role) = &self.none else {
            return Ok(());
        };
        self.check_role(&["auth", "none"], role)?;
        if !is_loopback {
            return Err(Fault::new(
                &["auth", "none"],
                "without credentials the daemon may listen on loopback only: \
                 set listen to 127.0.0.1 or [::1], or remove auth.none",
            ));
        }
        Ok(())
    }

    /// A build that has the machine's network reaches the daemon on loopback, whatever it listens with. Without
    /// credentials every such build would be a caller with the rights of `auth.none`, on all branches.
    pub(super) fn check_builds(
        &self,
        sandbox: &SandboxConfig,
        repos: &BTreeMap<RepoName, RepoConfig>,
    ) -> Result<(), Fault> {
        if self.none.is_none() {
            return Ok(());
        }
        let why = "builds with the machine's network could call the daemon without a credential";
        // Repos that are registered over the API have the profile of all.
        if sandbox.profile != Some(SandboxProfile::Strict) {
            let message = format!(
                "{why}: set sandbox.profile to \"strict\", which has no network, or remove auth.none"
            );
            return Err(Fault::new(&["auth", "none"], message));
        }
        let mut own = repos
            .iter()
            .filter_map(|(name, repo)| Some((name.as_str(), repo.sandbox.profile?)));
        match own.find(|(_, profile)| *profile != SandboxProfile::Strict) {
            None => Ok(()),
            Some((name, profile)) => {
                let message = format!(
                    "{why}, and repos.{name}.sandbox.profile is \"{}\": set that to \"strict\" or remove \
                     it, or remove auth.none",
                    profile.as_str()
                );
                let at = ["repos", name, "sandbox", "profile"];
                Err(Fault::new(&at, message).or_at(&["auth", "none"]))
            }
        }
    }

    fn check_issuers(&self) -> Result<(), Fault> {
        if let Some(jwt) = &self.jwt {
            jwt.check()?;
            if let Some(role) = &jwt.default_role {
                self.check_role(&["auth", "jwt", "default_role"], role)?;
            }
        }
        let Some(oauth) = &self.oauth else {
            return Ok(());
        };
        oauth.check()?;
        if let Some(role) = &oauth.default_role {
            self.check_role(&["auth", "oauth", "default_role"], role)?;
        }
        match &self.jwt {
            Some(jwt) if jwt.issuer == oauth.issuer.as_str() => Err(Fault::new(
                &["auth", "jwt", "issuer"],
                "it is the issuer of [auth.oauth], too: its keys come from one place or the other",
            )),
            _ => Ok(()),
        }
    }

    fn check_role(&self, key: &[&str], role: &str) -> Result<(), Fault> {
        if self.roles.contains_key(role) {
            return Ok(());
        }
        let known: Vec<_> = self.roles.keys().map(String::as_str).collect();
        let known = known.join(", ");
        Err(Fault::new(
            key,
            format!("there is no role {role:?}; the roles are {known}"),
        ))
    }
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            none: None,
            roles: known_roles(),
            tenants: BTreeMap::new(),
            jwt: None,
            oauth: None,
        }
    }
}

/// What is there without being written down.
fn known_roles() -> BTreeMap<String, Role> {
    use Scope as R;
    use Toolset as T;
    let dev = Role::new(
        &[
            R::RepoRead,
            R::BuildRun,
            R::GitRead,
            R::GitWrite,
            R::CodeRun,
        ],
        &[T::Yard, T::Build, T::GitRead, T::GitWrite, T::Code],
    );
    let ops = Role::new(
        &[R::RepoRead, R::BuildRun, R::GitRead, R::Ops],
        &[T::Yard, T::Build, T::GitRead, T::Ops],
    );
    let admin = Role::new(&R::ALL, &T::ALL);
    let ui = Role::new(&[R::RepoRead, R::GitRead], &[T::Yard, T::GitRead]);
    [("dev", dev), ("ops", ops), ("admin", admin), ("ui", ui)]
        .map(|(name, role)| (name.to_owned(), role))
        .into()
}

/// A role of a known name takes its place.
fn with_the_known<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, Role>, D::Error> {
    let mut roles = known_roles();
    roles.extend(BTreeMap::deserialize(from)?);
    Ok(roles)
}

fn scopes<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Scopes, D::Error> {
    let scopes = Vec::<CredentialScope>::deserialize(from)?;
    Ok(scopes
        .into_iter()
        .map(|CredentialScope(right)| right)
        .collect())
}

struct CredentialScope(Scope);

impl TextValue for CredentialScope {
    const EXPECTED: &'static str =
        r#""repo:read", "build:run", "git:read", "git:write", "code:run", "ops" or "admin""#;

    fn from_text(text: &str) -> Result<Self, String> {
        Scope::parse(text)
            .map(Self)
            .ok_or_else(|| "it is not a scope".to_owned())
    }
}
text_value!(CredentialScope);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operators_roles_stand_beside_the_known_ones() {
        let text = "[roles.ci]\nscopes = [\"repo:read\", \"build:run\"]\n[roles.ui]\nscopes = []\n";
        let auth: AuthConfig = toml::from_str(text).unwrap();
        assert_eq!(auth.roles.len(), 5);
        assert!(auth.roles["ui"].scopes.is_empty());
        assert!(auth.roles["ci"].toolsets.is_empty());
        for right in Scope::ALL {
            assert!(CredentialScope::EXPECTED.contains(right.as_str()));
        }
    }

    #[test]
    fn nobody_in_particular_comes_in_on_loopback_alone_and_as_a_role_that_there_is() {
        let auth = |role: &str| AuthConfig {
            none: Some(role.to_owned()),
            ..AuthConfig::default()
        };
        assert!(auth("dev").check(true).is_ok());
        assert!(auth("dev").check(false).is_err());
        assert!(auth("king").check(true).is_err());
        assert!(AuthConfig::default().check(false).is_ok());
    }
}
