//! Who asks, and the one place where it is decided whether they may.

use std::sync::Arc;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::Grant;
use branchyard_config::Toolset;
use branchyard_model::{Author, BranchName, ErrorKind, Problem, RepoName, Scope, Scopes};

/// Whoever showed a credential, and what that is good for; cheap to clone.
#[derive(Debug, Clone)]
pub struct Principal {
    /// Unique to the credential, and never another's later: sessions and idempotency keys are kept by it.
    name: String,
    /// The principal by whose limits it counts: giving one's work to others does not make one's share larger.
    account: String,
    grant: Arc<Grant>,
    /// When the credential is taken back.
    revoked: CancellationToken,
}

impl Principal {
    pub fn new(name: impl Into<String>, grant: Grant) -> Self {
        let name = name.into();
        Self {
            account: name.clone(),
            name,
            grant: Arc::new(grant),
            revoked: CancellationToken::new(),
        }
    }

    /// One whose credential can be taken back while it is in use.
    #[must_use]
    pub fn revocable(mut self, revoked: CancellationToken) -> Self {
        self.revoked = revoked;
        self
    }

    /// One who counts by the limits of another.
    #[must_use]
    pub fn charged_to(mut self, account: impl Into<String>) -> Self {
        self.account = account.into();
        self
    }

    /// Whoever asked for a build before, with the right that was looked at then.
    pub fn of_build(name: &str) -> Self {
        let grant = Grant {
            rights: [Scope::BuildRun].into_iter().collect(),
            toolsets: Vec::new(),
            ..Grant::everything()
        };
        Self::new(name, grant)
    }

    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    pub fn rights(&self) -> Scopes {
        self.grant.rights
    }

    /// Who its commits are by, if that is not the daemon.
    pub fn author(&self) -> Option<&Author> {
        self.grant.author.as_ref()
    }

    pub fn may_have(&self, toolset: Toolset) -> bool {
        self.grant.toolsets.contains(&toolset)
    }

    pub fn require(&self, right: Scope) -> Result<(), Problem> {
        if self.grant.rights.contains(right) {
            return Ok(());
        }
        let scope = right.as_str();
        let detail = format!("{} does not have the right {scope}", self.name);
        Err(Problem::new(ErrorKind::Forbidden, "missing_right", detail)
            .missing(right)
            .help(format!("it takes a token whose role has the scope {scope}")))
    }

    pub fn sees_repo(&self, repo: &RepoName) -> bool {
        self.grant.has_repo(repo)
    }

    pub fn sees(&self, repo: &RepoName, branch: &BranchName) -> bool {
        self.grant.has(repo, branch)
    }

    pub fn check_repo(&self, repo: &RepoName) -> Result<(), Problem> {
        match self.sees_repo(repo) {
            true => Ok(()),
            false => Err(self.unseen("repo", repo.as_str())),
        }
    }

    pub fn check(&self, repo: &RepoName, branch: &BranchName) -> Result<(), Problem> {
        self.check_repo(repo)?;
        match self.sees(repo, branch) {
            true => Ok(()),
            false => Err(self.unseen("branch", branch.as_str())),
        }
    }

    /// The same whether or not there is such a thing.
    fn unseen(&self, kind: &str, name: &str) -> Problem {
        let detail = format!("{} sees no {kind} named {name}", self.name);
        Problem::new(ErrorKind::NotFound, "out_of_bounds", detail)
            .field(kind)
            .help("`branchyard whoami` or GET /api/whoami tells which repos and branches a credential is for")
    }

    /// Refused where something is about more than one's own branches of one's own repos.
    pub fn require_everywhere(&self) -> Result<(), Problem> {
        match self.grant.is_everywhere() {
            true => Ok(()),
            false => Err(self.bounded("this is about the whole yard")),
        }
    }

    /// Refused where something is about all branches of a repo that one sees.
    pub fn require_all_branches(&self) -> Result<(), Problem> {
        match self.grant.has_all_branches() {
            true => Ok(()),
            false => Err(self.bounded("this is about all branches of the repo")),
        }
    }

    fn bounded(&self, what: &str) -> Problem {
        let detail = format!("{what}, and {} is bound to some", self.name);
        Problem::new(ErrorKind::Forbidden, "out_of_bounds", detail)
            .help("it takes a credential without --repos and --branches")
    }

    /// Returns when the credential has expired or was taken back; what still answers its holder ends then.
    pub async fn gone(&self) {
        let Some(expires) = self.grant.expires else {
            return self.revoked.cancelled().await;
        };
        let left =
            std::time::Duration::try_from(Timestamp::now().until(expires).unwrap_or_default());
        tokio::select! {
            () = self.revoked.cancelled() => {}
            () = tokio::time::sleep(left.unwrap_or_default()) => {}
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn account(&self) -> &str {
        &self.account
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Area;
    use branchyard_config::{BranchGlobs, RepoGlobs};

    fn names(repo: &str, branch: &str) -> (RepoName, BranchName) {
        (
            RepoName::parse(repo).unwrap(),
            BranchName::parse(branch).unwrap(),
        )
    }

    #[test]
    fn every_area_has_to_agree() {
        let outer = Area {
            repos: RepoGlobs::parse(["app-*"]).unwrap(),
            branches: BranchGlobs::parse(["agent-7-*", "main"]).unwrap(),
        };
        let inner = Area {
            repos: RepoGlobs::everything(),
            branches: BranchGlobs::parse(["agent-*"]).unwrap(),
        };
        let asker = Principal::new("t", Grant::everything().within(outer).within(inner));
        for (repo, branch, expected) in [
            ("app-x", "agent-7-a", true),
            ("app-x", "agent-8-a", false),
            ("app-x", "main", false),
            ("lib", "agent-7-a", false),
        ] {
            let (repo, branch) = names(repo, branch);
            assert_eq!(asker.sees(&repo, &branch), expected, "{repo} {branch}");
        }
        assert!(asker.require_everywhere().is_err());
        assert!(asker.require_all_branches().is_err());
    }

    #[tokio::test]
    async fn one_that_is_taken_back_or_has_expired_is_gone() {
        let revoked = CancellationToken::new();
        let asker = Principal::new("t", Grant::everything()).revocable(revoked.clone());
        revoked.cancel();
        asker.gone().await;
        let past = Some(Timestamp::UNIX_EPOCH);
        let asker = Principal::new("t", Grant::everything().until(past));
        asker.gone().await;
        assert!(asker.grant().has_expired(Timestamp::now()));
    }
}
