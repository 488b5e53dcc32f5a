//! A pull request (or merge request), as far as a webhook is believed.

use std::num::NonZeroU64;

use super::Unreadable;
use crate::repo::path_of;

/// The longest branch name with which git can lock `refs/heads/NAME` in a file of its own.
const LONGEST_BRANCH: usize = 244;
const LONGEST_TITLE: usize = 500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullNews {
    pub number: u64,
    /// Without control characters, cut after 500 characters.
    pub title: String,
    /// The branch that it is to be merged into. Only its length and that it has no control characters is checked.
    pub base: String,
    /// The branch that it comes from, in its own repository; checked as the base is.
    pub head: String,
    /// Where the forge keeps its latest commit, in the repository of the base.
    pub git_ref: String,
    pub is_open: bool,
    /// The repository of the base, as `owner/name`, where the payload says so.
    pub repo: Option<String>,
}

/// A branch, and the field that it stands in.
pub(super) struct Branch {
    pub field: &'static str,
    pub name: String,
}

impl Branch {
    fn checked(self) -> Result<String, Unreadable> {
        let fits = (1..=LONGEST_BRANCH).contains(&self.name.len());
        match fits && !self.name.contains(char::is_control) {
            true => Ok(self.name),
            false => Err(Unreadable::Branch(self.field)),
        }
    }
}

impl PullNews {
    /// `refs` is the directory of refs in which the forge has one for each.
    pub(super) fn new(
        refs: &str,
        number: NonZeroU64,
        title: &str,
        base: Branch,
        head: Branch,
        (is_open, repo): (bool, Option<String>),
    ) -> Result<Self, Unreadable> {
        let title = title.chars().filter(|c| !c.is_control());
        Ok(Self {
            number: number.get(),
            title: title.take(LONGEST_TITLE).collect(),
            base: base.checked()?,
            head: head.checked()?,
            git_ref: format!("{refs}/{number}/head"),
            is_open,
            repo,
        })
    }

    /// Whether it is of the repository that is cloned from there. One secret may be that of many repositories. A forge may be
    /// below a path, and a URL that is not a forge's tells nothing.
    pub fn is_of(&self, clone_url: &str) -> bool {
        match (&self.repo, path_of(clone_url)) {
            (Some(repo), Some(path)) => {
                let (repo, path) = (repo.to_lowercase(), path.to_lowercase());
                path.strip_suffix(&repo)
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            }
            _ => true,
        }
    }
}
