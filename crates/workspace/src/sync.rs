//! Bringing a workspace up to date, with its lock held. Nobody's work is ever moved: what stands in
//! the way is left alone and said.

use crate::FilesGuard;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::decide::{Plan, Remote};
use super::error::{branch_moves, conflict, incomplete, locked};
use super::follow::Step;
use super::reset::ROUNDS;
use super::{Error, Report, Reporter, Workspace};
use branchyard_git as git;
use branchyard_model::{About, Phase, SalvageReason, SyncMode, Warning};
use branchyard_process::Presence;
use branchyard_runtime::disk::Moment;

/// How long somebody else's git may hold the index, and how often that is looked at: there is nothing
/// to be woken by.
const INDEX_PATIENCE: Duration = Duration::from_secs(3);
const INDEX_POLL: Duration = Duration::from_millis(50);

/// What is asked of a workspace before something is done in it.
#[derive(Debug, Clone)]
pub struct PrepareOptions {
    pub sync: SyncMode,
    /// Untracked and ignored files go first.
    pub clean: bool,
    /// Go on with what is there when the remote cannot be asked.
    pub stale: bool,
    /// What the remote said earlier than this is too old.
    pub not_before: Instant,
    /// Who asks.
    pub by: String,
}

impl PrepareOptions {
    /// The latest that the remote has, without touching anybody's work.
    pub fn up_to_date(by: &str, not_before: Instant) -> Self {
        Self {
            sync: SyncMode::Auto,
            clean: false,
            stale: false,
            not_before,
            by: by.to_owned(),
        }
    }
}

/// What a workspace is about, and its files, held while that must stay true.
pub type Prepared = (About, FilesGuard);

impl Workspace {
    /// Brings the workspace up to date, making it first where it is missing. The caller holds the workspace's lock.
    /// Dropping the future is safe: what changes files goes on to its end by itself, and holds the files
    /// until then.
    pub async fn prepare(
        self: &Arc<Self>,
        options: &PrepareOptions,
        report: &Reporter,
    ) -> Result<Prepared, Error> {
        let mut attempts = self.attempts(report).await?;
        loop {
            match self.prepare_once(options, report).await {
                Err(error) => attempts.mend(error, report).await?,
                done => return done,
            }
        }
    }

    async fn prepare_once(
        self: &Arc<Self>,
        options: &PrepareOptions,
        report: &Reporter,
    ) -> Result<Prepared, Error> {
        if options.sync == SyncMode::None {
            return self.prepare_offline(report).await;
        }
        let files_guard = self.ensure_once(options.not_before, report).await?;
        report(Report::Phase(Phase::Sync, None));
        let remote = self.learn_remote(options, report).await?;
        match self.plan(&options.sync, &remote, options.stale).await? {
            Plan::Stay(about, warning) if !options.clean => {
                report_warning(report, warning);
                Ok((about, files_guard))
            }
            _ => {
                drop(files_guard);
                let (this, options, report) = (self.clone(), options.clone(), report.clone());
                self.uninterrupted(async move { this.rearrange(&options, &remote, &report).await })
                    .await
            }
        }
    }

    async fn prepare_offline(self: &Arc<Self>, report: &Reporter) -> Result<Prepared, Error> {
        self.find_again(report).await?;
        let files_guard = self.share_files().await;
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
                if let Some(target) = this.cut_off_move(&repo, dirty)? {
                    let why = "the last move was cut off, and `sync: none` may not complete it";
                    return Err(incomplete(target.as_str(), why).into());
                }
                this.standing(&repo, Some(dirty))
            })
            .await?;
        self.note(|_| {})?;
        Ok((about, files_guard))
    }

    async fn learn_remote(
        self: &Arc<Self>,
        options: &PrepareOptions,
        report: &Reporter,
    ) -> Result<Remote, Error> {
        if let SyncMode::Commit(commit) = &options.sync
            && let Some(head) = self.remote_head_with(commit.clone()).await?
        {
            return Ok(Remote::Head(head));
        }
        let learned = async {
            let asked = self
                .repo
                .ask_lately(&self.branch, options.not_before)
                .await?;
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
            Err(error) if options.stale && error.is_remote() => {
                let detail = format!("going on with what is here: {error}");
                report(Report::Warning(Warning::new("stale", detail)));
                Ok(Remote::Unreachable)
            }
            Err(error) => Err(error),
        }
    }

    /// Moves files. What was decided without the files is decided again with it: a person may have
    /// worked here meanwhile.
    async fn rearrange(
        self: &Arc<Self>,
        options: &PrepareOptions,
        remote: &Remote,
        report: &Reporter,
    ) -> Result<Prepared, Error> {
        let files_guard = self.files.clone().write_owned().await;
        let _place = self.grounds.checkouts.acquire().await;
        self.wait_for_index().await?;
        self.guard(report)?;
        let mut cleaned = false;
        let mut rounds = 0..ROUNDS;
        let mut about = loop {
            if rounds.next().is_none() {
                return Err(branch_moves(&self.branch).into());
            }
            let looked_at = Moment::now();
            match self.plan(&options.sync, remote, options.stale).await? {
                Plan::Unpark => self.unpark().await?,
                Plan::Reset(target, reason @ SalvageReason::CutOff) => {
                    self.reset(&target, reason, false, &options.by, report)
                        .await?;
                }
                Plan::Stay(about, warning) => {
                    report_warning(report, warning);
                    break about;
                }
                Plan::Move { from, to } => {
                    let step = Step {
                        from,
                        to,
                        looked_at,
                    };
                    if let Some(about) = self.follow(&options.sync, step, report).await? {
                        break about;
                    }
                }
                Plan::Reset(target, reason) => {
                    cleaned = options.clean;
                    self.check_fits(&target).await?;
                    break self
                        .reset(&target, reason, options.clean, &options.by, report)
                        .await?;
                }
            }
        };
        about.stale |= matches!(remote, Remote::Unreachable);
        if options.clean && !cleaned {
            self.clean(&options.by, report).await?;
        }
        Ok((about, files_guard.downgrade()))
    }

    /// A person's own git may be at work here and is given a moment. A lock that nobody is behind goes;
    /// the caller holds the files, so it is none of ours.
    pub(super) async fn wait_for_index(self: &Arc<Self>) -> Result<(), Error> {
        let patience = Instant::now() + INDEX_PATIENCE;
        while let Some(held) = self.blocking(|this| this.clear_own_locks()).await? {
            if Instant::now() >= patience {
                return Err(locked(&held).into());
            }
            tokio::time::sleep(INDEX_POLL).await;
        }
        Ok(())
    }

    /// Removes the locks on this workspace and its branch that nobody is behind; one that somebody holds.
    fn clear_own_locks(&self) -> Result<Option<PathBuf>, Error> {
        let admin = self.worktree.admin();
        let own = [
            admin.join("index.lock"),
            admin.join("HEAD.lock"),
            // Git would move the files first, and then find that it cannot move the branch.
            self.repo
                .store()
                .path()
                .join(format!("{}.lock", self.branch.local_ref())),
        ];
        if !own.iter().any(|lock| lock.exists()) {
            return Ok(None);
        }
        let presence = Presence::below(self.repo.home());
        let mut held = None;
        for lock in git::all_locks(self.repo.store())? {
            if !own.contains(&lock.path) {
                continue;
            }
            match lock.is_held(&presence) {
                true => held = Some(lock.path),
                false => lock.remove(self.repo.git())?,
            }
        }
        Ok(held)
    }

    /// Gives a parked workspace its branch back. The caller holds the files.
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
