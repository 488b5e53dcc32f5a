//! What a token's claims are good for here: never more than both sides say.

use super::claims::Claims;
use super::refusal::Refusal;
use super::rules::Rules;
use crate::{Area, Grant};
use branchyard_config::{BranchGlobs, RepoGlobs, Role, Toolset};
use branchyard_model::{Scope, Scopes};

impl Rules {
    pub(super) fn granted(&self, claims: &Claims) -> Result<Grant, Refusal> {
        let mut grant = self.allowed(claims)?;
        if let Some(tenant) = claims.text("tid")? {
            let repos = self.tenants().get(tenant).cloned();
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
        let scopes = claims.words(self.scope_claim())?;
        let scopes: Scopes = scopes.into_iter().filter_map(Scope::parse).collect();
        let named = claims.words(self.role_claim())?;
        let roles: Vec<&Role> = named
            .iter()
            .filter_map(|role| self.roles().get(*role))
            .collect();
        if !roles.is_empty() {
            let mut grant = of_roles(&roles);
            if !scopes.is_empty() {
                grant.rights = grant.rights.common(scopes);
            }
            return Ok(grant);
        }
        let default = self.default_role();
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
