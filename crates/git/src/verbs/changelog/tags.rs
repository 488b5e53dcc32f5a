//! The tags that history leads back to.

use std::collections::HashMap;

use git2::Oid;

use super::version::Version;
use crate::verbs::budget::Budget;
use crate::verbs::log::{Ends, LogStep, Walk};
use crate::verbs::person::text;
use crate::{Error, Repository};

#[derive(Debug, Clone)]
pub(super) struct Tag {
    pub name: String,
    pub(crate) commit: Oid,
}

/// All tags by the commits that they are of; of several the one that says most first.
pub(super) struct Tags(HashMap<Oid, Vec<String>>);

impl Tags {
    pub(super) fn read(repo: &Repository) -> Result<Self, Error> {
        let mut names: HashMap<Oid, Vec<String>> = HashMap::new();
        for reference in repo.git2().references_glob("refs/tags/*")? {
            let reference = reference?;
            // One can tag anything; what is no commit has no history.
            if let Ok(commit) = reference.peel_to_commit() {
                let name = text(reference.shorthand_bytes());
                names.entry(commit.id()).or_default().push(name);
            }
        }
        for names in names.values_mut() {
            names.sort_by(|one, other| {
                let (one_is, other_is) = (one.parse::<Version>(), other.parse::<Version>());
                match (one_is, other_is) {
                    (Ok(one), Ok(other)) => other.order(&one),
                    (one_is, other_is) => {
                        other_is.is_ok().cmp(&one_is.is_ok()).then(one.cmp(other))
                    }
                }
            });
        }
        Ok(Self(names))
    }

    /// The youngest tag before or at `from` that is wanted.
    pub(super) fn last(
        &self,
        repo: &Repository,
        from: Oid,
        wanted: impl Fn(&Tag) -> bool,
    ) -> Result<Option<Tag>, Error> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let ends = Ends {
            shown: vec![from],
            ..Ends::default()
        };
        let mut walk = Walk::new(repo, &ends, false, Budget::of_a_look())?;
        while let LogStep::Commit(commit) = walk.step()? {
            let names = self.0.get(&commit).into_iter().flatten();
            let mut tags = names.map(|name| Tag {
                name: name.clone(),
                commit,
            });
            if let Some(tag) = tags.find(&wanted) {
                return Ok(Some(tag));
            }
        }
        Ok(None)
    }
}
