//! `[repos.NAME.include]`: files that builds need and git does not have, such as `.env`, from a directory of the operator's.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place::Place;
use super::{BranchGlobs, ConfigError};
use branchyard_model::RepoName;

/// Files that builds of this repo need and git ignores, such as `.env`. A branch names them in its `.worktreeinclude`, in the
/// manner of .gitignore; they are copied from this directory into its workspace. No call reads or changes a copy, none is
/// saved or pushed, and the values in it are kept out of output. Commands in the workspace can read it: name the branches
/// whose code may.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a section [repos.NAME.include] with from and branches"
)]
pub struct Include {
    /// The directory, laid out like the workspace. It holds nothing that these branches may not have. Builds see it only
    /// through the copies.
    #[schemars(extend("example" = "/srv/branchyard/demo"))]
    pub from: PathBuf,
    /// The branches whose workspaces get these files, as globs; `["**"]` is all.
    #[schemars(extend("example" = ["main", "release/**"]))]
    pub branches: BranchGlobs,
}

impl Include {
    /// Has `from` be an absolute path; refuses a directory that builds could write to, or no branches.
    pub(super) fn check(
        &mut self,
        place: &Place<'_>,
        repo: &RepoName,
        workspaces: &Path,
    ) -> Result<(), ConfigError> {
        let section = ["repos", repo.as_str(), "include"];
        let key = |name| [section[0], section[1], section[2], name];
        self.from = place.path(&key("from"), &self.from)?;
        if self.branches.patterns().is_empty() {
            let rule = r#"no branch would get a file: name some, such as ["main"]; ["**"] is all"#;
            return Err(place.error(&key("branches"), rule));
        }
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let (from, workspaces) = (real(&self.from), real(workspaces));
        if from.starts_with(&workspaces) || workspaces.starts_with(&from) {
            let rule = "it is not apart from the workspaces, where builds write";
            return Err(place.error(&key("from"), rule));
        }
        Ok(())
    }
}
