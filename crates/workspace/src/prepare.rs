//! A workspace for whoever asks: found, or made where there is none, at a branch of the remote or at a
//! new one.

use crate::FilesGuard;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::decide::oid;
use super::error::{branch_not_found, conflict};
use super::record::Record;
use super::{Error, Report, Reporter, Workspace};
use crate::repos::Asked;
use branchyard_git as git;
use branchyard_model::{BranchName, CommitId};

/// How long those who only looked in are given to let go of the files.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

impl Workspace {
    /// Makes the workspace unless it exists, and shares its files. Only a missing workspace costs a
    /// question to the remote, asked no earlier than `not_before`.
    pub async fn ensure(
        self: &Arc<Self>,
        not_before: Instant,
        report: &Reporter,
    ) -> Result<FilesGuard, Error> {
        let mut attempts = self.attempts(report).await?;
        loop {
            match self.ensure_once(not_before, report).await {
                Err(error) => attempts.mend(error, report).await?,
                done => return done,
            }
        }
    }

    pub(super) async fn ensure_once(
        self: &Arc<Self>,
        not_before: Instant,
        report: &Reporter,
    ) -> Result<FilesGuard, Error> {
        self.find_again(report).await?;
        let files_guard = self.share_files().await;
        if self.exists() {
            self.check_owner()?;
            self.guard(report)?;
            self.note_read();
            return Ok(files_guard);
        }
        drop(files_guard);
        let asked = self.repo.ask_lately(&self.branch, not_before).await?;
        if asked.head.is_none() && !self.repo.is_cloned() {
            return Err(branch_not_found(&self.branch).into());
        }
        self.bring(&asked, report).await?;
        if self.repo.is_suspect() {
            // What was left of a store was found on the way, and nobody knows what is missing in it.
            self.heal(report).await?;
        }
        let (this, report) = (self.clone(), report.clone());
        self.uninterrupted(async move {
            loop {
                if let Ok(files_guard) = this.files.clone().try_write_owned() {
                    if !this.exists() {
                        this.register_found(&report).await?;
                    }
                    if !this.exists() {
                        this.create(&report).await?;
                        this.note(|record| record.fetched_at = Some(asked.at))?;
                    }
                    return Ok(files_guard.downgrade());
                }
                // Others make it, or have made it and build there by now, which is not waited for.
                let files_guard = this.share_files().await;
                if this.exists() {
                    return Ok(files_guard);
                }
                drop(files_guard);
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        })
        .await
    }

    /// A workspace whose files are here, but whose registration is gone or broken, is one all the same.
    pub(super) async fn find_again(self: &Arc<Self>, report: &Reporter) -> Result<(), Error> {
        let is_sound = !self.repo.is_cloned() || self.repo.packed_refs_are_sound()?;
        let is_locked = git::is_locked(self.repo.store(), &self.branch, self.worktree.admin());
        if self.is_lost() || !is_sound || is_locked {
            self.mend_here(report).await?;
        }
        Ok(())
    }

    /// The same, once the store is there; the caller holds the files.
    async fn register_found(self: &Arc<Self>, report: &Reporter) -> Result<(), Error> {
        if !self.is_lost() {
            return Ok(());
        }
        let _registry = self.repo.registry.lock().await;
        let (this, report) = (self.clone(), report.clone());
        self.blocking(move |_| this.mend_and_tell(&report).map(drop))
            .await
    }

    fn is_lost(&self) -> bool {
        let admin = self.worktree.admin();
        // Without an index git would take every file for deleted, and find nothing wrong with that.
        let registered =
            self.exists() && Record::load(admin).is_some() && admin.join("index").is_file();
        !registered
            && self.repo.is_cloned()
            && self.worktree.has_directory()
            && !self.worktree.is_preparing()
            && !self.worktree.is_removing()
    }

    /// Whether a workspace for this branch can be made: the remote or the store has it.
    pub async fn check_branch(self: &Arc<Self>, not_before: Instant) -> Result<(), Error> {
        match self.is_to_be_had(not_before).await? {
            true => Ok(()),
            false => Err(branch_not_found(&self.branch).into()),
        }
    }

    /// Whether the remote, asked no earlier than `not_before`, or the store has the branch.
    pub async fn is_to_be_had(self: &Arc<Self>, not_before: Instant) -> Result<bool, Error> {
        let asked = self.repo.ask_lately(&self.branch, not_before).await?;
        Ok(asked.head.is_some() || (self.repo.is_cloned() && self.local_tip().await?.is_some()))
    }

    /// Creates the branch at `start` and its workspace; the branch must be new to the remote and here.
    pub async fn create_branch(
        self: &Arc<Self>,
        start: &str,
        report: &Reporter,
    ) -> Result<(), Error> {
        let mut attempts = self.attempts(report).await?;
        loop {
            match self.create_branch_once(start, report).await {
                Err(error) => attempts.mend(error, report).await?,
                done => return done,
            }
        }
    }

    async fn create_branch_once(
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
            let _files = this.files.clone().write_owned().await;
            if this.exists() || this.local_tip().await?.is_some() {
                return Err(taken(&this.branch, "in the yard").into());
            }
            this.make(&commit, false, &report).await.map(drop)
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
            let id = oid(&commit)?;
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
}
