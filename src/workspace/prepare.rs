//! Bringing a workspace into being: what is fetched, registered and checked out, under which lock,
//! and how a crash in the middle is told from somebody's work.

use std::fs;
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::OwnedRwLockReadGuard;

use super::error::{branch_not_found, conflict};
use super::record::Record;
use super::{Error, Report, Reporter, Workspace};
use crate::git;
use crate::model::{BranchName, CommitId, Phase};
use crate::repos::Asked;

impl Workspace {
    /// Makes the workspace unless it exists, and steps on its floor. Only a missing workspace costs a
    /// question to the remote, asked no earlier than `not_before`.
    pub async fn ensure(
        self: &Arc<Self>,
        not_before: Instant,
        report: &Reporter,
    ) -> Result<OwnedRwLockReadGuard<()>, Error> {
        let floor = self.stand().await;
        if self.exists() {
            self.check_owner()?;
            self.guard(report)?;
            return Ok(floor);
        }
        drop(floor);
        let asked = self.repo.ask(&self.branch, not_before).await?;
        if asked.head.is_none() && !self.repo.is_cloned() {
            return Err(branch_not_found(&self.branch).into());
        }
        self.bring(&asked, report).await?;
        let (this, report) = (self.clone(), report.clone());
        self.uninterrupted(async move {
            let floor = this.floor.clone().write_owned().await;
            if !this.exists() {
                this.create(&report).await?;
                this.note(|record| record.fetched_at = Some(asked.at))?;
            }
            Ok(floor.downgrade())
        })
        .await
    }

    /// Whether a workspace for this branch can be made: the remote or the store has it.
    pub async fn check_branch(self: &Arc<Self>, not_before: Instant) -> Result<(), Error> {
        let asked = self.repo.ask(&self.branch, not_before).await?;
        let known =
            asked.head.is_some() || (self.repo.is_cloned() && self.local_tip().await?.is_some());
        known
            .then_some(())
            .ok_or_else(|| branch_not_found(&self.branch).into())
    }

    /// Creates the branch at `start` and its workspace; the branch must be new to the remote and here.
    pub async fn create_branch(
        self: &Arc<Self>,
        start: &str,
        report: &Reporter,
    ) -> Result<(), Error> {
        let taken = |branch: &BranchName, place: &str| {
            conflict("branch_exists", format!("{branch} already exists {place}"))
                .field("from")
                .help("leave out `from` to prepare the branch that exists")
        };
        let asked = self.repo.ask(&self.branch, Instant::now()).await?;
        if asked.head.is_some() {
            return Err(taken(&self.branch, "on the remote").into());
        }
        self.bring(&asked, report).await?;
        let commit = self.resolve_start(start, report).await?;
        let (this, report) = (self.clone(), report.clone());
        self.uninterrupted(async move {
            let _floor = this.floor.clone().write_owned().await;
            if this.exists() || this.local_tip().await?.is_some() {
                return Err(taken(&this.branch, "in the yard").into());
            }
            this.register(&commit, false, &report).await?;
            this.fill(&report).await
        })
        .await
    }

    /// The commit that a new branch starts at: a branch of the remote, as it is there now, or a commit.
    async fn resolve_start(
        self: &Arc<Self>,
        start: &str,
        report: &Reporter,
    ) -> Result<CommitId, Error> {
        if let Ok(commit) = CommitId::parse(start) {
            return self.require_commit(commit).await;
        }
        let branch = BranchName::parse(start).map_err(|problem| problem.field("from"))?;
        let asked = self.repo.ask(&branch, Instant::now()).await?;
        if let Some(head) = asked.head.clone() {
            let tell = report.clone();
            let progress = move |phase, percent| tell(Report::Phase(phase, percent));
            self.repo.bring(&branch, &asked, &progress).await?;
            return Ok(head);
        }
        // Not pushed yet, but perhaps a branch of the yard.
        self.blocking(move |this| {
            let store = this.repo.open_store()?;
            git::read_ref(&store, &branch.local_ref())?
                .and_then(|id| CommitId::parse(&id.to_string()).ok())
                .ok_or_else(|| branch_not_found(&branch).field("from").into())
        })
        .await
    }

    async fn require_commit(self: &Arc<Self>, commit: CommitId) -> Result<CommitId, Error> {
        self.blocking(move |this| {
            let store = this.repo.open_store()?;
            let id = git2::Oid::from_str(commit.as_str()).map_err(git::Error::from)?;
            match store.find_commit(id) {
                Ok(_) => Ok(commit),
                Err(_) => {
                    let detail = format!("the commit {commit} is not in the repository");
                    Err(conflict("commit_not_found", detail).field("from").into())
                }
            }
        })
        .await
    }

    /// Has the store catch up with what the remote said, cloning first where need be.
    pub(super) async fn bring(
        self: &Arc<Self>,
        asked: &Asked,
        report: &Reporter,
    ) -> Result<(), Error> {
        // Before the fetch, which would put things back without a word to whoever asked.
        if self.repo.is_cloned() {
            let restored = self.repo.guard_store_files()?;
            if let Some(warning) = self.repo.tampered(&restored) {
                report(Report::Warning(warning));
            }
        }
        let tell = report.clone();
        let progress = move |phase, percent| tell(Report::Phase(phase, percent));
        Ok(self.repo.bring(&self.branch, asked, &progress).await?)
    }

    /// Makes the workspace at the remote's head, or at the branch that only we have. The caller holds
    /// the floor.
    async fn create(self: &Arc<Self>, report: &Reporter) -> Result<(), Error> {
        let (remote, local) = (self.remote_tip().await?, self.local_tip().await?);
        let start = match (&remote, &local) {
            (Some(head), _) => head.clone(),
            // Was only ever here, and was kept when its workspace went.
            (None, Some(local)) => local.clone(),
            (None, None) => return Err(branch_not_found(&self.branch).into()),
        };
        if let Some(head) = &remote {
            self.seen(head.clone(), |seen, store, id| seen.begin_move(store, id))
                .await?;
        }
        let fresh = self.register(&start, remote.is_some(), report).await?;
        self.fill(report).await?;
        match remote {
            Some(head) if fresh => {
                self.seen(head, |seen, store, id| seen.finish_move(store, id))
                    .await
            }
            // The files are those of the branch that was here: nothing was moved to the remote's.
            Some(head) => {
                self.seen(head, |seen, store, _| seen.abandon_move(store))
                    .await
            }
            None => Ok(()),
        }
    }

    /// Registers the worktree under the repo's registry lock; files come later, without that lock.
    /// Returns whether the branch was new here.
    async fn register(
        self: &Arc<Self>,
        start: &CommitId,
        on_remote: bool,
        report: &Reporter,
    ) -> Result<bool, Error> {
        report(Report::Phase(Phase::Worktree, None));
        let _registry = self.repo.registry.lock().await;
        self.repo.guard_store()?;
        self.blocking(move |this| {
            this.make_room(on_remote)?;
            this.clear_leftovers()?;
            // A parked branch whose workspace is gone comes back as the branch that it was.
            Ok(git::unpark_branch(&this.repo.open_store()?, &this.branch)?)
        })
        .await?;
        let exists = self.local_tip().await?.is_some();
        let (git, store) = (self.repo.git(), self.repo.store());
        let mut added = self.worktree.add(git, store, start, exists).await;
        let own = std::slice::from_ref(&self.branch);
        if added.is_err() && self.repo.clear_stale_locks(own).await? {
            // What the first attempt left is half made, and ours.
            self.blocking(|this| this.clear_leftovers()).await?;
            added = self.worktree.add(git, store, start, exists).await;
        }
        added?;

        Record::new(self.branch.clone())
            .save(self.worktree.admin())
            .map_err(Error::io("record the workspace"))?;
        Ok(!exists)
    }

    async fn fill(self: &Arc<Self>, report: &Reporter) -> Result<(), Error> {
        // The semaphore is never closed.
        let _place = self.checkouts.acquire().await;
        report(Report::Phase(Phase::Checkout, None));
        Ok(self.worktree.fill(self.repo.git()).await?)
    }

    /// Parks local branches that cannot stand beside this one. Where the remote has this branch, it
    /// cannot have those; where it has not, they come first.
    pub(super) fn make_room(&self, on_remote: bool) -> Result<(), Error> {
        let store = self.repo.open_store()?;
        for other in git::colliding_refs(&store, "refs/heads/", &self.branch)? {
            let collides = |why: &str| {
                conflict(
                    "branch_collides",
                    format!(
                        "{} cannot exist beside the branch {other}{why}",
                        self.branch
                    ),
                )
                .field("branch")
            };
            if !on_remote {
                return Err(collides("").into());
            }
            let admin = self
                .repo
                .store()
                .path()
                .join("worktrees")
                .join(other.dir().as_str());
            if !git::park(&store, &other, &admin)? {
                return Err(collides(", whose workspace is not on its branch just now").into());
            }
            tracing::info!(repo = %self.repo.name, branch = %other, "parked: gone upstream");
        }
        Ok(())
    }

    /// Takes away what a crash left of an earlier attempt. Anything else that stands here is not ours
    /// to touch.
    fn clear_leftovers(&self) -> Result<(), Error> {
        let path = self.worktree.path();
        if self.worktree.is_preparing() {
            if path.exists() {
                fs::remove_dir_all(path).map_err(Error::io("clear a half-made workspace"))?;
            }
            self.worktree.forget()?;
        }
        if path.symlink_metadata().is_ok() {
            let detail = format!(
                "{} is in the way and was not made by the yard",
                path.display()
            );
            return Err(conflict("path_occupied", detail)
                .help("look at it, move it elsewhere, and ask again")
                .into());
        }
        // The directory was deleted or moved by hand; the branch and its commits are still here.
        if self.worktree.set_aside(&self.repo.open_store()?)? {
            tracing::warn!(repo = %self.repo.name, branch = %self.branch, "a workspace's directory was gone; git's files about it are set aside");
        }
        Ok(())
    }
}
