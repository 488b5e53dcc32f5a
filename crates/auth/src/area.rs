//! Where a credential counts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use branchyard_config::{BranchGlobs, RepoGlobs};
use branchyard_model::{BranchName, RepoName};

/// Some branches of some repos.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Area {
    pub repos: RepoGlobs,
    pub branches: BranchGlobs,
}

impl Area {
    pub fn everywhere() -> Self {
        Self::of_repos(RepoGlobs::everything())
    }

    pub fn of_repos(repos: RepoGlobs) -> Self {
        Self {
            repos,
            branches: BranchGlobs::everything(),
        }
    }

    pub fn has_repo(&self, repo: &RepoName) -> bool {
        self.repos.matches(repo)
    }

    pub fn has_all_branches(&self) -> bool {
        self.branches.is_everything()
    }

    pub fn has(&self, repo: &RepoName, branch: &BranchName) -> bool {
        self.has_repo(repo) && self.branches.matches(branch)
    }

    pub fn is_everywhere(&self) -> bool {
        self.repos.is_everything() && self.has_all_branches()
    }
}
