//! Which branches of a repository are protected: those that the operator names, those that a secret is for, and the
//! default branch. To create, change or push to one takes the right admin.

use parking_lot::Mutex;

use branchyard_config::{BranchGlobs, Config};
use branchyard_model::{BranchName, NamedRef, RepoName};

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
        let mut globs = vec![config.git.protected.clone()];
        for (.., secret) in config.secrets.of_repo(repo) {
            if !globs.contains(secret.globs()) {
                globs.push(secret.globs().clone());
            }
        }
        Self {
            globs,
            asked_default: Mutex::default(),
        }
    }

    /// What stands for a tag, a request or a commit is no branch: it is not pushed to, and not trusted as one that is
    /// protected.
    pub(super) fn names(&self, branch: &BranchName) -> bool {
        NamedRef::of(branch).is_none() && self.globs.iter().any(|globs| globs.matches(branch))
    }

    pub(super) fn patterns(&self) -> Vec<String> {
        let globs = self.globs.iter();
        globs.flat_map(|globs| globs.patterns().to_vec()).collect()
    }

    /// What the remote's HEAD named when it was asked without a clone.
    pub(super) fn asked_default(&self) -> Option<String> {
        self.asked_default.lock().clone()
    }

    pub(super) fn remember_default(&self, named: Option<String>) {
        *self.asked_default.lock() = named;
    }
}
