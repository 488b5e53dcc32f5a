//! Has a leased worktree be at a commit. In doubt, and after any error, it is thrown away and made anew, once.

use std::sync::Arc;

use super::leased::LeasedWorktree;
use crate::workspace::blocking;
use crate::{Error, fits};
use branchyard_config::crash_point;
use branchyard_git::ScratchUntracked;
use branchyard_model::CommitId;
use branchyard_runtime::disk::spread;

impl LeasedWorktree {
    pub(super) async fn prepare(
        self: Arc<Self>,
        commit: &CommitId,
        untracked: ScratchUntracked,
    ) -> Result<(), Error> {
        let _alone = self.moving().lock().await;
        self.check(commit).await?;
        if self.worktree().is_whole() {
            match self.switch(commit, untracked).await {
                Ok(()) => return Ok(()),
                Err(error) => {
                    let (repo, number) = (self.repo().name(), self.worktree().number());
                    tracing::warn!(%repo, number, %error, "a scratch worktree cannot be moved: made anew");
                }
            }
        }
        self.make_anew().await?;
        crash_point("scratch-registered");
        let made = self.switch(commit, untracked).await;
        if made.is_err() {
            // Most likely the disk is full, and that is what filled it.
            self.discard().await;
        }
        made
    }

    /// An error if the store lacks the commit, or its files are too many or do not fit.
    async fn check(self: &Arc<Self>, commit: &CommitId) -> Result<(), Error> {
        let (this, commit) = (self.clone(), commit.clone());
        let checked = blocking(move || {
            this.repo().guard_store()?;
            this.worktree().check(&commit)?;
            Ok(fits::check_scratch(this.repo(), this.worktree(), &commit))
        });
        checked.await?
    }

    async fn make_anew(self: &Arc<Self>) -> Result<(), Error> {
        let _registry = self.repo().registry().lock().await;
        let this = self.clone();
        let made = blocking(move || {
            spread(this.repo().home());
            Ok(this.worktree().make_anew(this.pool().trash())?)
        });
        made.await
    }

    async fn switch(&self, commit: &CommitId, untracked: ScratchUntracked) -> Result<(), Error> {
        // The semaphore is never closed.
        let _place = self.pool().checkouts().acquire().await;
        let (git, used) = (self.repo().git(), self.pool().ticks().now());
        Ok(self.worktree().switch(git, commit, untracked, used).await?)
    }

    async fn discard(self: &Arc<Self>) {
        let _registry = self.repo().registry().lock().await;
        let this = self.clone();
        let gone = blocking(move || Ok(this.worktree().discard(this.pool().trash())?)).await;
        if let Err(error) = gone {
            let (repo, number) = (self.repo().name(), self.worktree().number());
            tracing::warn!(%repo, number, %error, "a half-made scratch worktree stays");
        }
    }
}
