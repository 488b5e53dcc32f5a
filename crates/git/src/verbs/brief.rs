//! A commit in a few words.

use git2::{Commit, Revwalk};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::count;
use crate::{Error, Repository};

/// Longer than a subject should be.
const LONGEST_SUBJECT: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    pub id: String,
    pub subject: String,
}

impl Brief {
    pub(crate) fn of(commit: &Commit<'_>) -> Self {
        let subject = String::from_utf8_lossy(commit.summary_bytes().unwrap_or_default());
        let mut shown: String = subject.chars().take(LONGEST_SUBJECT).collect();
        if shown.len() < subject.len() {
            shown.push('…');
        }
        Self {
            id: commit.id().to_string(),
            subject: shown,
        }
    }

    /// The first `most` commits of a walk, and how many there are in all.
    pub(super) fn newest(
        repo: &Repository,
        mut walk: Revwalk<'_>,
        most: usize,
    ) -> Result<(Vec<Self>, usize), Error> {
        let first = walk.by_ref().take(most);
        let first = first.map(|id| Ok(Self::of(&repo.git2().find_commit(id?)?)));
        let first = first.collect::<Result<Vec<_>, Error>>()?;
        let total = first.len() + count(&mut walk)?;
        Ok((first, total))
    }

    pub(super) fn line(&self) -> String {
        format!("  {} {}", self.id, self.subject)
    }
}
