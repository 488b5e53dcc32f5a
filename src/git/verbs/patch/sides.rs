//! What is compared with what.

use git2::{Diff, DiffOptions, Repository, Tree};

use crate::git::{Error, check_extent};

/// The two sides of a comparison.
#[derive(Debug)]
pub enum Sides<'repo> {
    IndexToFiles,
    TreeToFiles(Tree<'repo>),
    TreeToIndex(Tree<'repo>),
    /// The older one is missing where there was nothing before.
    Trees(Option<Tree<'repo>>, Tree<'repo>),
}

impl Sides<'_> {
    pub fn diff<'repo>(
        &self,
        repo: &'repo Repository,
        options: &mut DiffOptions,
    ) -> Result<Diff<'repo>, Error> {
        let options = Some(options);
        match self {
            Self::IndexToFiles => {}
            Self::TreeToFiles(tree) | Self::TreeToIndex(tree) => {
                let head = repo.head().and_then(|head| head.peel_to_tree()).ok();
                check_extent(repo, head.as_ref(), Some(tree))?;
            }
            Self::Trees(old, new) => check_extent(repo, old.as_ref(), Some(new))?,
        }
        Ok(match self {
            Self::IndexToFiles => repo.diff_index_to_workdir(None, options)?,
            // As git does it: what the index does not have is not there.
            Self::TreeToFiles(tree) => repo.diff_tree_to_workdir_with_index(Some(tree), options)?,
            Self::TreeToIndex(tree) => repo.diff_tree_to_index(Some(tree), None, options)?,
            Self::Trees(old, new) => repo.diff_tree_to_tree(old.as_ref(), Some(new), options)?,
        })
    }

    /// The same of one file that became something else. What the index has of it is in the way there.
    pub fn diff_of_halves<'repo>(
        &self,
        repo: &'repo Repository,
        options: &mut DiffOptions,
    ) -> Result<Diff<'repo>, Error> {
        match self {
            Self::TreeToFiles(tree) => Ok(repo.diff_tree_to_workdir(Some(tree), Some(options))?),
            _ => self.diff(repo, options),
        }
    }
}
