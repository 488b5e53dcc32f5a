//! Bringing a workspace up to date, with its turn held. Nobody's work is ever moved: what stands in
//! the way is left alone and said.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::OwnedRwLockReadGuard;

use super::decide::{Plan, Remote};
use super::error::{conflict, incomplete, locked};
use super::{Error, Report, Reporter, Workspace};
use crate::git::{self, Moved};
use crate::model::{About, CommitId, Phase, SyncMode, Warning};

/// How long somebody else's git may hold the index, and how often that is looked at: there is nothing
/// to be woken by.
const INDEX_PATIENCE: Duration = Duration::from_secs(3);
const INDEX_POLL: Duration = Duration::from_millis(50);

/// What a workspace is about, and the floor to stand on while that must stay true.
pub type Prepared = (About, OwnedRwLockReadGuard<()>);

impl Workspace {
    /// Brings the workspace up to date by `mode`, making it first where it is missing. The caller holds
    /// the turn. Dropping the future is safe: what changes files goes on to its end by itself, and
    /// holds the floor until then.
    pub async fn prepare(
        self: &Arc<Self>,
        mode: &SyncMode,
        stale: bool,
        not_before: Instant,
        report: &Reporter,
    ) -> Result<Prepared, Error> {
        if *mode == SyncMode::None {
            return self.prepare_offline(report).await;
        }
        let floor = self.ensure(not_before, report).await?;
        report(Report::Phase(Phase::Sync, None));
        let remote = self.learn_remote(mode, stale, not_before, report).await?;
        match self.plan(mode, &remote, stale).await? {
            Plan::Stay(about, warning) => {
                report_warning(report, warning);
                Ok((about, floor))
            }
            Plan::Move(_) | Plan::Unpark => {
                drop(floor);
                let (this, mode, report) = (self.clone(), mode.clone(), report.clone());
                self.uninterrupted(
                    async move { this.rearrange(&mode, &remote, stale, &report).await },
                )
                .await
            }
        }
    }

    async fn prepare_offline(self: &Arc<Self>, report: &Reporter) -> Result<Prepared, Error> {
        let floor = self.stand().await;
        if !self.exists() {
            let detail = format!(
                "{} has no workspace yet, and `sync: none` may not make one",
                self.branch
            );
            return Err(conflict("no_workspace", detail)
                .field("sync")
                .help("use `sync: auto`, or prepare the branch first")
                .into());
        }
        self.check_owner()?;
        self.guard(report)?;
        let about = self
            .blocking(|this| {
                let repo = this.worktree.open()?;
                this.check_head(&repo, &git::head(&repo)?)?;
                let dirty = git::tracked_changes(&repo)?;
                this.check_whole(&repo, dirty)?;
                this.standing(&repo, Some(dirty))
            })
            .await?;
        self.note(|_| {})?;
        Ok((about, floor))
    }

    async fn learn_remote(
        self: &Arc<Self>,
        mode: &SyncMode,
        stale: bool,
        not_before: Instant,
        report: &Reporter,
    ) -> Result<Remote, Error> {
        if let SyncMode::Commit(commit) = mode
            && let Some(head) = self.remote_head_with(commit.clone()).await?
        {
            return Ok(Remote::Head(head));
        }
        let learned = async {
            let asked = self.repo.ask(&self.branch, not_before).await?;
            self.bring(&asked, report).await?;
            Ok::<_, Error>(asked)
        };
        match learned.await {
            Ok(asked) => {
                self.note(|record| record.fetched_at = Some(asked.at))?;
                // The store may have learnt of something newer than the answer by now.
                Ok(self
                    .remote_tip()
                    .await?
                    .map_or(Remote::Absent, Remote::Head))
            }
            Err(error) if stale && error.is_remote() => {
                let detail = format!("going on with what is here: {error}");
                report(Report::Warning(Warning::new("stale", detail)));
                Ok(Remote::Unreachable)
            }
            Err(error) => Err(error),
        }
    }

    /// Moves files. What was decided without the floor is decided again with it: a person may have
    /// worked here meanwhile.
    async fn rearrange(
        self: &Arc<Self>,
        mode: &SyncMode,
        remote: &Remote,
        stale: bool,
        report: &Reporter,
    ) -> Result<Prepared, Error> {
        let floor = self.floor.clone().write_owned().await;
        let _place = self.checkouts.acquire().await;
        self.wait_for_index().await?;
        self.guard(report)?;
        let mut plan = self.plan(mode, remote, stale).await?;
        if matches!(plan, Plan::Unpark) {
            self.unpark().await?;
            plan = self.plan(mode, remote, stale).await?;
        }
        let about = match plan {
            Plan::Stay(about, warning) => {
                report_warning(report, warning);
                about
            }
            Plan::Move(target) => self.move_files(mode, &target, report).await?,
            Plan::Unpark => return Err(self.drifted("a detached commit").into()),
        };
        Ok((about, floor.downgrade()))
    }

    async fn move_files(
        self: &Arc<Self>,
        mode: &SyncMode,
        target: &CommitId,
        report: &Reporter,
    ) -> Result<About, Error> {
        report(Report::Phase(Phase::Checkout, None));
        self.seen(target.clone(), |seen, store, id| seen.begin_move(store, id))
            .await?;
        let moved = self.worktree.move_to(self.repo.git(), target).await;
        let about = self.about().await?;
        if moved.is_err() && about.dirty == Some(false) {
            // Nothing was touched, so nothing is half done.
            self.seen(target.clone(), |seen, store, _| seen.abandon_move(store))
                .await?;
        }
        let moved = moved?;
        match moved {
            Moved::InTheWay(why) => {
                self.seen(target.clone(), |seen, store, _| seen.abandon_move(store))
                    .await?;
                if matches!(mode, SyncMode::Commit(_)) {
                    let work = format!("files in the way of the new tree ({why})");
                    return Err(self.has_work(target, &work).into());
                }
                let detail = format!(
                    "not moved to the remote's {target}: files stand in the way of the new tree: {why}"
                );
                report(Report::Warning(Warning::new("left_alone", detail)));
            }
            // Git calls it a success when it could not write some of the files.
            Moved::Yes {
                complaint: Some(complaint),
            } if about.dirty != Some(false) => {
                return Err(incomplete(target.as_str(), &complaint, self.path()).into());
            }
            Moved::Yes { .. } => {
                self.seen(target.clone(), |seen, store, id| {
                    seen.finish_move(store, id)
                })
                .await?;
            }
        }
        Ok(about)
    }

    /// A person's own git may be at work here and is given a moment. A lock that nobody is behind goes;
    /// the caller holds the floor, so it is none of ours.
    async fn wait_for_index(self: &Arc<Self>) -> Result<(), Error> {
        let admin = self.worktree.admin();
        let locks = [admin.join("index.lock"), admin.join("HEAD.lock")];
        let patience = Instant::now() + INDEX_PATIENCE;
        while let Some(lock) = locks.iter().find(|lock| lock.exists()) {
            let looked_at = locks.to_vec();
            let cleared = self
                .blocking(move |this| {
                    Ok(git::clear_stale_locks(
                        &looked_at,
                        &[this.path(), this.worktree.admin()],
                    )?)
                })
                .await?;
            if !cleared && Instant::now() >= patience {
                return Err(locked(lock).into());
            }
            tokio::time::sleep(INDEX_POLL).await;
        }
        Ok(())
    }

    /// Gives a parked workspace its branch back. The caller holds the floor.
    async fn unpark(self: &Arc<Self>) -> Result<(), Error> {
        let _registry = self.repo.registry.lock().await;
        self.blocking(|this| {
            this.make_room(true)?;
            let store = this.repo.open_store()?;
            if git::unpark(&store, &this.branch, this.worktree.admin())? {
                return Ok(());
            }
            Err(this.drifted("another commit").into())
        })
        .await
    }
}

fn report_warning(report: &Reporter, warning: Option<Warning>) {
    if let Some(warning) = warning {
        report(Report::Warning(warning));
    }
}
