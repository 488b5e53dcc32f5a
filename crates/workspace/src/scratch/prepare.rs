//! Has a leased worktree be at a commit, with its submodules. In doubt, and after any error, it is thrown away and made anew,
//! once.

use std::collections::HashSet;
use std::sync::Arc;

use super::leased::LeasedWorktree;
use super::submodules::Submodules;
use crate::blocking::blocking;
use crate::lfs::LfsPlace;
use crate::repos::FoundSubmodules;
use crate::submodules::{UNNAMED, empty};
use crate::{Error, fits, lfs};
use branchyard_config::crash_point;
use branchyard_git::{DetachedWorktree, SwitchRules, UntrackedFiles};
use branchyard_model::{CommitId, ErrorKind, Problem, Warning};
use branchyard_runtime::disk::spread;

impl LeasedWorktree {
    pub(super) async fn prepare(
        self: Arc<Self>,
        commit: &CommitId,
        untracked: UntrackedFiles,
    ) -> Result<Vec<Warning>, Error> {
        let _alone = self.moving().lock().await;
        self.check(self.worktree(), commit).await?;
        let repo = self.repo();
        let found = repo.submodules().bring(repo.store(), commit).await?;
        let submodules = Submodules::of(self.worktree(), &found);
        for (worktree, commit) in submodules.all() {
            self.check(worktree, commit).await?;
        }
        self.move_to(commit, untracked, &submodules).await?;
        let mut warnings = self.left_empty(&found, &submodules).await?;
        warnings.extend(self.fill_lfs(&found, &submodules).await?);
        Ok(warnings)
    }

    /// Has LFS files be there; what to know of those that stay pointers.
    async fn fill_lfs(
        self: &Arc<Self>,
        found: &FoundSubmodules,
        submodules: &Submodules,
    ) -> Result<Option<Warning>, Error> {
        let repo = self.repo();
        if !repo.config().lfs.is_wanted() {
            return Ok(None);
        }
        let within = found.filled.iter().zip(submodules.worktrees());
        let within = within.map(|(found, worktree)| {
            LfsPlace::of_submodule(worktree, &found.path, found.store.clone())
        });
        let root = LfsPlace::of(self.worktree().path(), self.worktree().admin());
        let places: Vec<_> = std::iter::once(root).chain(within).collect();
        let looked = blocking(move || {
            let looked = places.into_iter().map(LfsPlace::look);
            looked
                .filter_map(Result::transpose)
                .collect::<Result<Vec<_>, _>>()
        });
        let pointers = looked.await?;
        let left = lfs::fill(repo, &pointers).await?;
        Ok(left.or_else(|| lfs::warning(repo, &pointers)))
    }

    async fn move_to(
        self: &Arc<Self>,
        commit: &CommitId,
        untracked: UntrackedFiles,
        submodules: &Submodules,
    ) -> Result<(), Error> {
        if self.worktree().is_whole() {
            match self.switch(commit, untracked, submodules).await {
                Ok(()) => return Ok(()),
                Err(error) => {
                    let (repo, number) = (self.repo().name(), self.number());
                    tracing::warn!(%repo, number, %error, "a scratch worktree cannot be moved: made anew");
                }
            }
        }
        self.make_anew(self.worktree()).await?;
        crash_point("scratch-registered");
        let made = self.switch(commit, untracked, submodules).await;
        if made.is_err() {
            // Most likely the disk is full, and that is what filled it.
            self.discard().await;
        }
        made
    }

    /// An error if the store lacks the commit, or its files are too many or do not fit.
    async fn check(
        self: &Arc<Self>,
        worktree: &DetachedWorktree,
        commit: &CommitId,
    ) -> Result<(), Error> {
        let (this, worktree, commit) = (self.clone(), worktree.clone(), commit.clone());
        let checked = blocking(move || {
            this.repo().guard_store()?;
            worktree.check(&commit)?;
            Ok(fits::check_detached(this.repo(), &worktree, &commit))
        });
        checked.await?
    }

    async fn make_anew(self: &Arc<Self>, worktree: &DetachedWorktree) -> Result<(), Error> {
        let _registry = self.repo().registry().lock().await;
        let (this, worktree) = (self.clone(), worktree.clone());
        let made = blocking(move || {
            spread(this.repo().home());
            Ok(worktree.make_anew(this.pool().trash())?)
        });
        made.await
    }

    /// Moves the files, and then those of the submodules, each after the one that it is in.
    async fn switch(
        self: &Arc<Self>,
        commit: &CommitId,
        untracked: UntrackedFiles,
        submodules: &Submodules,
    ) -> Result<(), Error> {
        // The semaphore is never closed.
        let _place = self.pool().checkouts().acquire().await;
        let (git, used) = (self.repo().git(), self.pool().ticks().now());
        let rules = SwitchRules {
            untracked,
            submodules: submodules.worktrees(),
            looked_at: None,
        };
        self.worktree().switch(git, commit, rules, used).await?;
        for (worktree, commit) in submodules.all() {
            if !worktree.is_whole() {
                self.make_anew(worktree).await?;
                crash_point("submodule-registered");
            }
            worktree.switch(git, commit, rules, used).await?;
        }
        Ok(())
    }

    /// What to know of the submodules that have no files; an error where all have to have them.
    async fn left_empty(
        self: &Arc<Self>,
        found: &FoundSubmodules,
        submodules: &Submodules,
    ) -> Result<Vec<Warning>, Error> {
        let rule = self.repo().submodules().rule();
        let mut left = found.left_empty.clone();
        if rule.is_wanted() {
            let (root, submodules) = (self.worktree().clone(), submodules.clone());
            let unnamed = blocking(move || submodules.unnamed(&root)).await?;
            let known: HashSet<_> = left.iter().map(|(path, _)| path.clone()).collect();
            let unnamed = unnamed.into_iter().filter(|path| !known.contains(path));
            left.extend(unnamed.map(|path| (path, UNNAMED.to_owned())));
        }
        if left.is_empty() {
            return Ok(Vec::new());
        }
        let message = empty(&left);
        match rule.is_required() {
            true => Err(Problem::new(ErrorKind::Conflict, "submodule_refused", message).into()),
            false => Ok(vec![Warning::new("submodules_empty", message)]),
        }
    }

    async fn discard(self: &Arc<Self>) {
        let _registry = self.repo().registry().lock().await;
        let this = self.clone();
        let gone = blocking(move || Ok(this.worktree().discard(this.pool().trash())?)).await;
        if let Err(error) = gone {
            let (repo, number) = (self.repo().name(), self.number());
            tracing::warn!(%repo, number, %error, "a half-made scratch worktree stays");
        }
    }
}
