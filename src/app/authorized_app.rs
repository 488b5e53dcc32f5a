//! The authorized app: the yard, and who stands before it. Names become repos, workspaces, runs and salvages here and
//! nowhere else, and only those that this principal may see; for anybody else there is no such thing.

use std::path::PathBuf;
use std::sync::Arc;

use super::Parts;
use super::audit::Auditor;
use branchyard_auth::Principal;
use branchyard_config::Config;
use branchyard_model::{BranchName, Problem, RepoName, Scope};
use branchyard_workspace::repos::Repo;
use branchyard_workspace::{Workspace, protected_from};

/// All that a face can reach of the yard; cheap to clone.
#[derive(Debug, Clone)]
pub struct AuthorizedApp {
    yard: Arc<Parts>,
    principal: Principal,
}

impl AuthorizedApp {
    pub(super) fn new(yard: Arc<Parts>, principal: Principal) -> Self {
        Self { yard, principal }
    }

    pub(super) fn yard(&self) -> &Arc<Parts> {
        &self.yard
    }

    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// Where it is written down who did what.
    pub fn auditor(&self) -> Auditor {
        Auditor::new(self.yard.clone())
    }

    pub fn config(&self) -> &Config {
        &self.yard.config
    }

    /// For those who ask later who did it.
    pub(super) fn by(&self) -> String {
        self.principal.name().to_owned()
    }

    pub fn require(&self, right: Scope) -> Result<(), Problem> {
        self.principal.require(right)
    }

    /// All repos that are to be seen, sorted by name.
    pub fn repos(&self) -> Vec<Arc<Repo>> {
        let mut all = self.yard.repos.list();
        all.retain(|repo| self.principal.sees_repo(repo.name()));
        all
    }

    pub fn repo(&self, name: &RepoName) -> Result<Arc<Repo>, Problem> {
        self.check_repo(name)?;
        self.yard.repos.get(name)
    }

    /// A repo all of whose branches are to be seen: what is done to it as a whole touches each of them.
    pub(super) fn whole_repo(&self, name: &RepoName) -> Result<Arc<Repo>, Problem> {
        let repo = self.repo(name)?;
        self.principal.require_all_branches()?;
        Ok(repo)
    }

    /// The workspace of a branch, which need not exist yet.
    pub(super) fn workspace(
        &self,
        repo: &RepoName,
        branch: &BranchName,
    ) -> Result<Arc<Workspace>, Problem> {
        let repo = self.repo(repo)?;
        self.workspace_in(&repo, branch)
    }

    pub(super) fn workspace_in(
        &self,
        repo: &Arc<Repo>,
        branch: &BranchName,
    ) -> Result<Arc<Workspace>, Problem> {
        self.check(repo.name(), branch)?;
        Ok(self.yard.workspaces.get(repo, branch))
    }

    /// Refuses all but admins to have a protected branch `done` something to.
    pub(super) async fn check_unprotected(
        &self,
        repo: &Repo,
        branch: &BranchName,
        done: &str,
    ) -> Result<(), Problem> {
        if self.principal.rights().contains(Scope::Admin) {
            return Ok(());
        }
        match self.is_protected(repo, branch).await? {
            true => Err(protected_from(branch, done)),
            false => Ok(()),
        }
    }

    /// What to tell of a failure: see [`DiskGuard::judge`](branchyard_runtime::disk::DiskGuard::judge).
    pub(super) fn judge(&self, error: impl Into<Problem>) -> Problem {
        self.yard.margin.judge(error.into())
    }

    /// Whether the branch is protected. Where the repo was never cloned, the remote is asked for its default branch.
    pub async fn is_protected(&self, repo: &Repo, branch: &BranchName) -> Result<bool, Problem> {
        let learned = repo.learn_default().await;
        learned.map_err(|error| self.judge(error))?;
        Ok(repo.protects(branch))
    }

    /// Where the files of a branch are, or would be.
    pub fn path_of(&self, repo: &RepoName, branch: &BranchName) -> Result<PathBuf, Problem> {
        self.check(repo, branch)?;
        let repo = self.yard.repos.get(repo)?;
        let workspace = self.yard.workspaces.look_at(&repo, branch);
        Ok(workspace.path().to_owned())
    }

    /// Branches of a repo that have a workspace and are to be seen.
    pub fn branches_on_disk(&self, repo: &Repo) -> Vec<BranchName> {
        let all = self.yard.workspaces.on_disk(repo);
        self.seen(repo, &all).cloned().collect()
    }

    /// How many of them there are.
    pub(super) fn count_on_disk(&self, repo: &Repo) -> usize {
        self.seen(repo, &self.yard.workspaces.on_disk(repo)).count()
    }

    fn seen<'a>(
        &'a self,
        repo: &'a Repo,
        branches: &'a [BranchName],
    ) -> impl Iterator<Item = &'a BranchName> {
        let branches = branches.iter();
        branches.filter(|branch| self.principal.sees(repo.name(), branch))
    }

    pub(super) fn check_repo(&self, repo: &RepoName) -> Result<(), Problem> {
        self.principal.check_repo(repo)
    }

    pub(crate) fn check(&self, repo: &RepoName, branch: &BranchName) -> Result<(), Problem> {
        self.principal.check(repo, branch)
    }
}
