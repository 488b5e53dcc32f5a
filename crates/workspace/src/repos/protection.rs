//! Which branches of a repository are protected: those that the operator names, those that a secret is for, and the
//! default branch. To create, change or push to one takes the right admin.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Error, Repo};
use branchyard_config::{BranchGlobs, Config};
use branchyard_git::{self as git, Store};
use branchyard_model::{BranchName, RepoName};

/// Before the remote has named its default branch, these count as it.
const USUAL_DEFAULTS: [&str; 2] = ["main", "master"];

/// What the configuration protects in one repository.
#[derive(Debug)]
pub(super) struct Protection {
    /// `git.protected`, and `branches` of every secret that runs of the repository are given.
    globs: Vec<BranchGlobs>,
    /// What the remote's HEAD named, where it was asked before there was a clone to keep that in.
    asked_default: Mutex<Option<String>>,
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
        Self {
            globs,
            asked_default: Mutex::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        let asked = self.asked_default.lock();
        asked.unwrap_or_else(PoisonError::into_inner)
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

    /// Asks the remote for its default branch unless that is known. Needs no clone.
    pub async fn learn_default(&self) -> Result<(), Error> {
        if self.is_cloned() || self.remote_default().is_some() {
            return Ok(());
        }
        let named = git::remote_default(&self.git, self.config.url.as_str()).await?;
        *self.protection.lock() = named;
        Ok(())
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
        let in_store = Store::info(self.store.path()).and_then(|info| info.default_branch);
        in_store.or_else(|| self.protection.lock().clone())
    }
}
