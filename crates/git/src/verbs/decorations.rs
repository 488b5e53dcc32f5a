//! Which refs lead to which commits.

use std::collections::HashMap;

use git2::Oid;

use super::person::text;
use crate::{Error, Repository};

/// The branches and tags of a repository by their commits, as `git log` shows them: `main`,
/// `origin/main`, `tag: v1`. Refs of our own are nobody's business.
pub(super) struct Decorations(HashMap<Oid, Vec<String>>);

impl Decorations {
    pub(super) fn read(repo: &Repository) -> Result<Self, Error> {
        let mut names: HashMap<Oid, Vec<String>> = HashMap::new();
        for reference in repo.git2().references()? {
            let reference = reference?;
            let full = text(reference.name_bytes());
            let shown = if let Some(tag) = full.strip_prefix("refs/tags/") {
                format!("tag: {tag}")
            } else if let Some(branch) = full.strip_prefix("refs/heads/") {
                branch.to_owned()
            } else if let Some(branch) = full.strip_prefix("refs/remotes/") {
                branch.to_owned()
            } else {
                continue;
            };
            // What leads to no commit, or to one that is lost, decorates none.
            if let Ok(commit) = reference.peel_to_commit() {
                names.entry(commit.id()).or_default().push(shown);
            }
        }
        Ok(Self(names))
    }

    pub(super) fn of(&self, commit: Oid) -> Vec<String> {
        self.0.get(&commit).cloned().unwrap_or_default()
    }
}
