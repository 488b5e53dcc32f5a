//! Which branches of a repository are protected: those that the operator names, those that a secret is for, and the
//! default branch. To create, change or push to one takes the right admin.

use super::{Error, Repo};
use crate::config::{BranchGlobs, Config};
use crate::git::Store;
use crate::model::{BranchName, RepoName};

/// Before the remote has named its default branch, these count as it.
const USUAL_DEFAULTS: [&str; 2] = ["main", "master"];

/// What the configuration protects in one repository.
#[derive(Debug)]
pub(super) struct Protection {
    /// `git.protected`, and `branches` of every secret that runs of the repository are given.
    globs: Vec<BranchGlobs>,
}

impl Protection {
    pub(super) fn of(config: &Config, repo: &RepoName) -> Self {
        let of_secrets = config
            .secrets
            .of_repo(repo)
            .map(|(.., secret)| secret.globs().clone());
        let mut globs = vec![config.git.protected.clone()];
        for of_secret in of_secrets {
            if !globs.contains(&of_secret) {
                globs.push(of_secret);
            }
        }
        Self { globs }
    }
}

impl Repo {
    /// Whether the branch is protected, as far as the default branch is known: see [`Repo::learn_default`].
    pub fn protects(&self, branch: &BranchName) -> bool {
        let mut globs = self.protection.globs.iter();
        globs.any(|globs| globs.matches(branch))
            || self
                .default_branches()
                .iter()
                .any(|name| *name == branch.as_str())
    }

    /// Clones the repository unless that was done before: a clone asks the remote for its default branch.
    pub async fn learn_default(&self) -> Result<(), Error> {
        match self.remote_default().is_some() {
            true => Ok(()),
            false => self.ensure_store(&|_, _| {}).await,
        }
    }

    /// Globs and names of the protected branches, for people.
    pub fn protected_patterns(&self) -> Vec<String> {
        let globs = self.protection.globs.iter();
        let mut patterns: Vec<_> = globs.flat_map(|globs| globs.patterns().to_vec()).collect();
        patterns.extend(self.default_branches());
        let mut seen = std::collections::HashSet::new();
        patterns.retain(|pattern| seen.insert(pattern.clone()));
        patterns
    }

    /// The configured one and the remote's own: that they differ unprotects neither.
    fn default_branches(&self) -> Vec<String> {
        let configured = self
            .config
            .default_branch
            .as_ref()
            .map(BranchName::to_string);
        let known: Vec<_> = configured
            .into_iter()
            .chain(self.remote_default())
            .collect();
        match known.is_empty() {
            true => USUAL_DEFAULTS.map(str::to_owned).into(),
            false => known,
        }
    }

    /// What the remote's HEAD named when it was last asked.
    fn remote_default(&self) -> Option<String> {
        Store::info(self.store.path())?.default_branch
    }
}
