//! Which branches of a repository are protected: those that the operator names, those that a secret is for, and the
//! default branch. To create, change or push to one takes the right admin.

use std::sync::{Mutex, MutexGuard, PoisonError};

use branchyard_config::{BranchGlobs, Config};
use branchyard_model::{BranchName, RepoName};

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

    pub(super) fn names(&self, branch: &BranchName) -> bool {
        self.globs.iter().any(|globs| globs.matches(branch))
    }

    pub(super) fn patterns(&self) -> Vec<String> {
        let globs = self.globs.iter();
        globs.flat_map(|globs| globs.patterns().to_vec()).collect()
    }

    /// What the remote's HEAD named when it was asked without a clone.
    pub(super) fn asked_default(&self) -> Option<String> {
        self.lock().clone()
    }

    pub(super) fn remember_default(&self, named: Option<String>) {
        *self.lock() = named;
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        let asked = self.asked_default.lock();
        asked.unwrap_or_else(PoisonError::into_inner)
    }
}
