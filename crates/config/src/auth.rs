//! `[auth]`: who may come in besides the holder of the session key, and as what.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::config_file::Fault;
use super::{JwtConfig, OauthConfig, RepoConfig, RepoGlobs, SandboxConfig, Toolset};
use branchyard_model::{RepoName, SandboxProfile, Scope, Scopes};

/// Who may come in besides the holder of the session key, and as what. The session key opens everything, and tokens
/// (`branchyard token create`) what they were made for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, expecting = "a section [auth]")]
pub struct AuthConfig {
    /// The role of callers who show no credential at all. Only where `listen` is a loopback address and every
    /// `sandbox.profile` is "strict": a build that has the machine's network would be such a caller.
    #[schemars(extend("example" = "dev", "x-default" = "none, they are refused"))]
    pub none: Option<String>,
    /// Named sets of scopes and of MCP tools. There are dev (all but ops and admin), ops (repo:read, build:run, git:read
    /// and ops), admin (all) and ui (repo:read and git:read); one of the same name takes its place.
    #[serde(deserialize_with = "with_the_known")]
    #[schemars(extend("example" = "ci"))]
    pub roles: BTreeMap<String, Role>,
    /// Which repos callers may see whose JWT names a tenant (`tid`): globs. A tenant that is not listed here sees none.
    #[schemars(extend("example" = { "acme": ["acme-*"] }))]
    pub tenants: BTreeMap<String, RepoGlobs>,
    pub jwt: Option<JwtConfig>,
    pub oauth: Option<OauthConfig>,
}

/// What callers of a role may do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a section [auth.roles.NAME]")]
pub struct Role {
    /// What may be done.
    #[schemars(with = "Vec<Scope>", extend("example" = ["repo:read", "build:run"]))]
    pub scopes: Scopes,
    /// The sets of MCP tools that it gets.
    #[serde(default)]
    #[schemars(extend("example" = ["yard", "build"]))]
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
        &[
            T::Yard,
            T::Build,
            T::GitRead,
            T::GitWrite,
            T::Code,
            T::Pipelines,
        ],
    );
    let ops = Role::new(
        &[R::RepoRead, R::BuildRun, R::GitRead, R::Ops],
        &[T::Yard, T::Build, T::GitRead, T::Pipelines, T::Ops],
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
            let refusal = toml::from_str::<Role>("scopes = [\"x\"]").unwrap_err();
            assert!(refusal.message().contains(right.as_str()), "{refusal}");
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
