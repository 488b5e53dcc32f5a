//! What a token of one issuer has to say to count, and whose it is then.

use std::time::Duration;

use jiff::Timestamp;
use jsonwebtoken::Algorithm;
use sha2::{Digest, Sha256};

use super::claims::Claims;
use super::refusal::Refusal;
use super::token::UNKNOWN_ALGORITHM;
use crate::{Area, Grant, Principal};
use branchyard_config::{
    AuthConfig, BranchGlobs, JwtConfig, OauthConfig, RepoGlobs, Role, Toolset,
};
use branchyard_model::{Scope, Scopes};

/// Longer names than this, and those with strange characters, are hashed.
const LONGEST_SUBJECT: usize = 200;
const HASHED: &str = "sha256-";

#[derive(Debug)]
pub(super) struct Rules {
    /// What its callers' names begin with, so that no two issuers' can be the same.
    kind: &'static str,
    issuer: String,
    audience: String,
    algorithms: Option<Vec<Algorithm>>,
    leeway: Duration,
    scope_claim: String,
    role_claim: String,
    default_role: Option<String>,
    auth: AuthConfig,
}

impl Rules {
    /// Which algorithms count is up to the keys there.
    pub(super) fn of_jwt(jwt: &JwtConfig, auth: &AuthConfig) -> Self {
        Self {
            kind: "jwt",
            issuer: jwt.issuer.clone(),
            audience: jwt.audience.clone(),
            algorithms: None,
            leeway: jwt.leeway,
            scope_claim: jwt.scope_claim.clone(),
            role_claim: jwt.role_claim.clone(),
            default_role: jwt.default_role.clone(),
            auth: auth.clone(),
        }
    }

    pub(super) fn of_oauth(oauth: &OauthConfig, auth: &AuthConfig) -> Self {
        Self {
            kind: "oauth",
            issuer: oauth.issuer.as_str().to_owned(),
            audience: oauth.audience.as_str().to_owned(),
            algorithms: Some(oauth.algorithms.clone()),
            leeway: oauth.leeway,
            scope_claim: oauth.scope_claim.clone(),
            role_claim: oauth.role_claim.clone(),
            default_role: oauth.default_role.clone(),
            auth: auth.clone(),
        }
    }

    pub(super) fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Before anybody is asked for a key: no key would make it count.
    pub(super) fn check_algorithm(&self, algorithm: Algorithm) -> Result<(), Refusal> {
        let accepted = self.algorithms.as_ref();
        match accepted.is_none_or(|accepted| accepted.contains(&algorithm)) {
            true => Ok(()),
            false => Err(UNKNOWN_ALGORITHM),
        }
    }

    /// Whoever shows these claims, whose signature is right.
    pub(super) fn principal(&self, claims: &Claims, now: Timestamp) -> Result<Principal, Refusal> {
        if claims.text("iss")? != Some(&self.issuer) {
            return Err(Refusal::Token("is of another issuer"));
        }
        if !claims.is_for(&self.audience) {
            return Err(Refusal::Token("is for another audience"));
        }
        let expires = claims.time("exp")?;
        let expires = expires.ok_or(Refusal::Token("never expires, and has to"))?;
        let no_time = |_| Refusal::Token("has a time that is none");
        // Until then another clock may say that it counts.
        let expires = expires.saturating_add(self.leeway).map_err(no_time)?;
        if now >= expires {
            return Err(Refusal::Token("has expired"));
        }
        if let Some(begins) = claims.time("nbf")?
            && now < begins.saturating_sub(self.leeway).map_err(no_time)?
        {
            return Err(Refusal::Token("does not count yet"));
        }
        let subject = claims.text("sub")?.filter(|subject| !subject.is_empty());
        let subject = subject.ok_or(Refusal::Token("does not say whose it is (sub)"))?;
        let grant = self.granted(claims)?.until(Some(expires));
        Ok(Principal::new(
            format!("{}:{}", self.kind, name(subject)),
            grant,
        ))
    }

    fn granted(&self, claims: &Claims) -> Result<Grant, Refusal> {
        let mut grant = self.allowed(claims)?;
        if let Some(tenant) = claims.text("tid")? {
            let repos = self.auth.tenants.get(tenant).cloned();
            let repos = repos.map_or_else(|| RepoGlobs::parse([]), Ok);
            grant = grant.within(Area::of_repos(repos.map_err(|_| NO_GLOB)?));
        }
        let (repos, branches) = (claims.globs("repos")?, claims.globs("branches")?);
        if repos.is_some() || branches.is_some() {
            let repos = repos.map_or(Ok(RepoGlobs::everything()), RepoGlobs::parse);
            let branches = branches.map_or(Ok(BranchGlobs::everything()), BranchGlobs::parse);
            grant = grant.within(Area {
                repos: repos.map_err(|_| NO_GLOB)?,
                branches: branches.map_err(|_| NO_GLOB)?,
            });
        }
        Ok(grant)
    }

    /// Roles allow, and scopes narrow that: they are what the caller let this client have of it. Without a
    /// role the scopes count by themselves. What is not known here counts for nothing.
    fn allowed(&self, claims: &Claims) -> Result<Grant, Refusal> {
        let scopes = claims.words(&self.scope_claim)?;
        let scopes: Scopes = scopes.into_iter().filter_map(Scope::parse).collect();
        let named = claims.words(&self.role_claim)?;
        let roles: Vec<&Role> = named
            .iter()
            .filter_map(|role| self.auth.roles.get(*role))
            .collect();
        if !roles.is_empty() {
            let mut grant = of_roles(&roles);
            if !scopes.is_empty() {
                grant.rights = grant.rights.common(scopes);
            }
            return Ok(grant);
        }
        let default = self.default_role.as_ref();
        let default = default.and_then(|role| self.auth.roles.get(role));
        if let Some(role) = default.filter(|_| scopes.is_empty() && named.is_empty()) {
            return Ok(Grant::of_role(role));
        }
        Ok(Grant {
            rights: scopes,
            ..Grant::everything()
        })
    }
}

const NO_GLOB: Refusal = Refusal::Token("is bound to something that is no glob");

fn of_roles(roles: &[&Role]) -> Grant {
    let has = |set: &Toolset| roles.iter().any(|role| role.toolsets.contains(set));
    Grant {
        rights: roles.iter().flat_map(|role| role.scopes.iter()).collect(),
        toolsets: Toolset::ALL.into_iter().filter(has).collect(),
        ..Grant::everything()
    }
}

/// The subject itself where it can be shown anywhere, else its hash; never the one for the other.
fn name(subject: &str) -> String {
    let is_plain =
        subject.len() <= LONGEST_SUBJECT && subject.bytes().all(|b| b.is_ascii_graphic());
    if is_plain && !subject.starts_with(HASHED) {
        return subject.to_owned();
    }
    let hash = Sha256::digest(subject.as_bytes());
    let hex: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{HASHED}{hex}")
}
