//! Making a workspace: registered under the repo's registry lock, filled outside it, and taken back whole if
//! that fails. What a crash left of an earlier attempt is cleared first.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::{branch_not_found, conflict};
use super::record::Record;
use super::{Error, Report, Reporter, Workspace};
use branchyard_config::crash_point;
use branchyard_git as git;
use branchyard_model::{CommitId, Phase};
use branchyard_process::who_is_in;
use branchyard_runtime::disk::spread;
use branchyard_runtime::yard_events::WorkspaceChange;

/// How long the git of a daemon that was killed is waited for, and how often it is looked at: it is
/// nobody's child by then.
const ORPHAN_PATIENCE: Duration = Duration::from_secs(30);
const ORPHAN_POLL: Duration = Duration::from_millis(20);

impl Workspace {
    /// Makes the workspace at the remote's head, or at the branch that only we have. The caller holds
    /// the files.
    pub(super) async fn create(self: &Arc<Self>, report: &Reporter) -> Result<(), Error> {
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
        crash_point("create-asked");
        let fresh = self.make(&start, remote.is_some(), report).await?;
        match remote {
            // A branch that is at the remote's head is no different from a new one.
            Some(head) if fresh || local.as_ref() == Some(&head) => {
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

    /// Registers the worktree at `start` and writes its files. What an attempt that failed made is taken
    /// away at once: most likely the disk is full, and that is what filled it. Returns whether the branch
    /// was new here.
    pub(super) async fn make(
        self: &Arc<Self>,
        start: &CommitId,
        on_remote: bool,
        report: &Reporter,
    ) -> Result<bool, Error> {
        self.check_fits(start).await?;
        spread(self.repo.home());
        let fresh = self.register(start, on_remote, report).await?;
        crash_point("create-registered");
        let Err(error) = self.fill_from_nearest(report).await else {
            crash_point("create-filled");
            self.tell(WorkspaceChange::Created);
            return Ok(fresh);
        };
        {
            let _registry = self.repo.registry.lock().await;
            self.unmake(start, fresh).await;
        }
        // On its way out git may have given back what it took, and so hidden what it failed of.
        self.would_fit(start).await?;
        Err(error)
    }

    /// Takes a half-made workspace away, and the branch if that was made for it. The caller holds the
    /// registry lock; what fails here, the next request does.
    async fn unmake(self: &Arc<Self>, start: &CommitId, fresh: bool) {
        let start = start.clone();
        let unmade = self
            .blocking(move |this| {
                if this.worktree.is_preparing() {
                    this.take_half_made()?;
                    this.worktree.forget()?;
                }
                if fresh {
                    let (store, branch) = (this.repo.open_store()?, this.branch.local_ref());
                    git::delete_ref_at(&store, &branch, start.as_str())?;
                }
                Ok(())
            })
            .await;
        if let Err(error) = unmade {
            tracing::warn!(repo = %self.repo.name, branch = %self.branch, %error, "a half-made workspace stays");
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
        self.wait_for_orphan().await?;
        let _registry = self.repo.registry.lock().await;
        self.repo.guard_store()?;
        self.blocking(move |this| {
            this.make_room(on_remote)?;
            this.clear_leftovers()?;
            this.check_nobody_has_it()?;
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
        let registered = added.map_err(Error::from).and_then(|()| {
            let (tick, inode) = (self.grounds.ticks.now(), self.worktree.inode());
            Record::of_new(self.branch.clone(), tick, inode)
                .save(self.worktree.admin())
                .map_err(Error::io("record the workspace"))
        });
        match &registered {
            Ok(()) => self.grounds.made.notify_one(),
            Err(_) => self.unmake(start, !exists).await,
        }
        registered.map(|()| !exists)
    }

    /// The git of a daemon that was killed may still be writing into what it left half made, and would
    /// go on in what is made in its place.
    async fn wait_for_orphan(self: &Arc<Self>) -> Result<(), Error> {
        let patience = Instant::now() + ORPHAN_PATIENCE;
        while self.worktree.is_preparing() {
            let orphan = self.blocking(|this| Ok(who_is_in(this.path()))).await?;
            let Some(pid) = orphan else {
                return Ok(());
            };
            if Instant::now() >= patience {
                let detail = format!(
                    "process {pid} is still at work in what an earlier daemon left of the workspace of {}",
                    self.branch
                );
                return Err(conflict("workspace_in_use", detail)
                    .field("branch")
                    .help("ask again when it has ended")
                    .into());
            }
            tokio::time::sleep(ORPHAN_POLL).await;
        }
        Ok(())
    }

    pub(super) async fn fill(self: &Arc<Self>, report: &Reporter) -> Result<(), Error> {
        // The semaphore is never closed.
        let _place = self.grounds.checkouts.acquire().await;
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

    /// Git has a branch in one worktree at a time; somebody may have gone to this one in another's.
    pub(super) fn check_nobody_has_it(&self) -> Result<(), Error> {
        let on_it = format!("ref: {}\n", self.branch.local_ref());
        let others = fs::read_dir(self.repo.store().path().join("worktrees"));
        for other in others.into_iter().flatten().flatten() {
            if fs::read_to_string(other.path().join("HEAD")).is_ok_and(|head| head == on_it) {
                let place = other.file_name().to_string_lossy().into_owned();
                let detail = format!("{} is checked out in the workspace {place}", self.branch);
                return Err(conflict("branch_in_use", detail)
                    .field("branch")
                    .help("have that workspace go back to its own branch, and ask again")
                    .into());
            }
        }
        Ok(())
    }

    /// Takes away what a crash left of an earlier attempt. Anything else that stands here is not ours
    /// to touch.
    fn clear_leftovers(&self) -> Result<(), Error> {
        let path = self.worktree.path();
        self.converge_removal()?;
        if self.worktree.is_preparing() {
            self.take_half_made()?;
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
