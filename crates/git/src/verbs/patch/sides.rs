//! What is compared with what.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use git2::{Diff, DiffOptions, Tree};

use crate::verbs::conflicted;
use crate::verbs::conflicts::Working;
use crate::verbs::suspects::is_within;
use crate::{
    Error, Repository, StillFiles, Untracked, check_extent, copy_of_index, files_of,
    unstaged_changes,
};

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
    /// Whether files of the worktree are one of the sides.
    pub fn have_files(&self) -> bool {
        matches!(self, Self::IndexToFiles | Self::TreeToFiles(_))
    }

    /// Copies of the files at `paths` that may differ, and which ones these are. The repository's index may have been
    /// replaced by one of such files alone: then `paths` are those.
    pub fn files(
        &self,
        repo: &Repository,
        paths: &[PathBuf],
        untracked: bool,
    ) -> Result<(StillFiles, Vec<PathBuf>), Error> {
        let still = StillFiles::new(repo)?;
        let index = repo.git2().index()?;
        let wanted = match index.path() {
            None => {
                still.repo().git2().set_index(&mut copy_of_index(&index)?)?;
                paths.to_vec()
            }
            Some(_) => self.files_in_doubt(repo, paths, untracked)?,
        };
        if let Some(workdir) = files_of(repo) {
            still.take_all(&Working::open(&workdir)?, &wanted)?;
        }
        Ok((still, wanted))
    }

    fn check_extent(&self, repo: &Repository) -> Result<(), Error> {
        match self {
            Self::IndexToFiles => Ok(()),
            Self::TreeToFiles(tree) | Self::TreeToIndex(tree) => {
                let head = repo.git2().head().and_then(|head| head.peel_to_tree()).ok();
                check_extent(repo, head.as_ref(), Some(tree))
            }
            Self::Trees(old, new) => check_extent(repo, old.as_ref(), Some(new)),
        }
    }

    fn files_in_doubt(
        &self,
        repo: &Repository,
        paths: &[PathBuf],
        untracked: bool,
    ) -> Result<Vec<PathBuf>, Error> {
        self.check_extent(repo)?;
        let mut found: BTreeSet<PathBuf> = unstaged_changes(repo)?
            .into_iter()
            .map(|((_, _, path), _)| path)
            .collect();
        found.extend(conflicted(repo)?.into_iter().map(PathBuf::from));
        if let Self::TreeToFiles(tree) = self {
            let diff = repo.git2().diff_tree_to_index(Some(tree), None, None)?;
            for delta in diff.deltas() {
                let (old, new) = (delta.old_file(), delta.new_file());
                found.extend(old.path().or(new.path()).map(Path::to_owned));
            }
        }
        if untracked {
            found.extend(Untracked::in_worktree(repo, true)?.paths);
        }
        found.retain(|path| is_within(path, paths));
        Ok(found.into_iter().collect())
    }

    /// `repo` is that of [`Self::files`], where files are a side.
    pub(crate) fn diff<'repo>(
        &self,
        repo: &'repo Repository,
        options: &mut DiffOptions,
    ) -> Result<Diff<'repo>, Error> {
        self.check_extent(repo)?;
        let options = Some(options);
        Ok(match self {
            Self::IndexToFiles => repo.git2().diff_index_to_workdir(None, options)?,
            // As git does it: what the index does not have is not there.
            Self::TreeToFiles(tree) => repo
                .git2()
                .diff_tree_to_workdir_with_index(Some(tree), options)?,
            Self::TreeToIndex(tree) => repo.git2().diff_tree_to_index(Some(tree), None, options)?,
            Self::Trees(old, new) => {
                repo.git2()
                    .diff_tree_to_tree(old.as_ref(), Some(new), options)?
            }
        })
    }

    /// The same of one file that became something else. What the index has of it is in the way there.
    pub(crate) fn diff_of_halves<'repo>(
        &self,
        repo: &'repo Repository,
        options: &mut DiffOptions,
    ) -> Result<Diff<'repo>, Error> {
        match self {
            Self::TreeToFiles(tree) => Ok(repo
                .git2()
                .diff_tree_to_workdir(Some(tree), Some(options))?),
            _ => self.diff(repo, options),
        }
    }
}
