//! One workspace: its locks, its worktree, its record, and what all workspaces of the yard have in common. What
//! happens to its files is in the modules that are called after it.

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::{Mutex as AsyncMutex, Notify, Semaphore};
use tokio_util::task::TaskTracker;

use crate::blocking::blocking;
use crate::files_lock::FilesLock;
use crate::helpers::Helpers;
use crate::lending::Lending;
use crate::live::Live;
use crate::ports::Ports;
use crate::record::Record;
use crate::remembered::Remembered;
use crate::repos::Repo;
use crate::scan_limit::ScanLimit;
use crate::scanner::Scanner;
use crate::setup::KeptSetups;
use crate::unfilled::found::{Unfilled, UnfilledMark};
use crate::{Error, FilesGuard, Ticks, WorkspaceQueue};
use branchyard_git::{self as git, Repository, Worktree};
use branchyard_model::BranchName;
use branchyard_runtime::disk::Trash;
use branchyard_runtime::yard_events::{WorkspaceChange, WorkspaceEvent, YardChange};

/// Seconds between two notes of reads.
const BETWEEN_NOTES: u64 = 60;

#[derive(Debug)]
pub struct Workspace {
    repo: Arc<Repo>,
    branch: BranchName,
    queue: WorkspaceQueue,
    files: FilesLock,
    /// Held by each change of refs or the index, for some are made beside a command that has the lock.
    changes: AsyncMutex<()>,
    /// Held while a code environment is made: of two callers, one finds what the other made.
    code_envs: AsyncMutex<()>,
    helpers: Helpers,
    worktree: Worktree,
    yard: Arc<Yard>,
    /// Held while the record is changed.
    record: Mutex<()>,
    lending: Lending,
    scanner: Scanner,
    scan_limit: ScanLimit,
    /// What is missing in it, by the state of its index.
    unfilled: Remembered<UnfilledMark, Arc<Unfilled>>,
}

/// What all workspaces have in common.
#[derive(Debug)]
pub(crate) struct Yard {
    pub(crate) live: Live<Workspace>,
    /// Checkouts are bound by the disk and the cores, not by how many were asked for.
    pub(crate) checkouts: Arc<Semaphore>,
    pub(crate) tasks: TaskTracker,
    pub(crate) trash: Trash,
    /// Where archives of salvage are kept.
    pub(crate) archives: PathBuf,
    pub(crate) ports: Ports,
    /// What set-ups made.
    pub(crate) setups: Arc<KeptSetups>,
    pub(crate) ticks: Arc<Ticks>,
    /// Told of every workspace that is made.
    pub(crate) made: Notify,
}

impl Workspace {
    /// Of whoever holds it already, or else a new one.
    pub(crate) fn of(yard: &Arc<Yard>, repo: &Arc<Repo>, branch: &BranchName) -> Arc<Self> {
        yard.live.get(repo.name(), branch, || {
            let path = repo.home().join(branch.dir().as_str());
            Self {
                worktree: Worktree::new(repo.store(), path, branch.clone()),
                queue: WorkspaceQueue::of(repo.news().clone(), repo.name().clone(), branch.clone()),
                repo: repo.clone(),
                branch: branch.clone(),
                files: FilesLock::default(),
                changes: AsyncMutex::default(),
                code_envs: AsyncMutex::default(),
                helpers: Helpers::default(),
                yard: yard.clone(),
                record: Mutex::default(),
                lending: Lending::default(),
                scanner: Scanner::default(),
                scan_limit: ScanLimit::default(),
                unfilled: Remembered::default(),
            }
        })
    }

    /// The workspace of another branch of the same repo. No store goes from under it, for this one is held.
    pub(crate) fn sibling(&self, branch: &BranchName) -> Arc<Self> {
        Self::of(&self.yard, &self.repo, branch)
    }

    pub fn repo(&self) -> &Arc<Repo> {
        &self.repo
    }

    pub fn branch(&self) -> &BranchName {
        &self.branch
    }

    pub fn queue(&self) -> &WorkspaceQueue {
        &self.queue
    }

    pub(crate) fn changes(&self) -> &AsyncMutex<()> {
        &self.changes
    }

    pub fn code_envs(&self) -> &AsyncMutex<()> {
        &self.code_envs
    }

    pub fn helpers(&self) -> &Helpers {
        &self.helpers
    }

    pub(crate) fn files(&self) -> &FilesLock {
        &self.files
    }

    pub(crate) fn worktree(&self) -> &Worktree {
        &self.worktree
    }

    pub(crate) fn yard(&self) -> &Yard {
        &self.yard
    }

    pub(crate) fn lending(&self) -> &Lending {
        &self.lending
    }

    pub(crate) fn scanner(&self) -> &Scanner {
        &self.scanner
    }

    pub(crate) fn unfilled(&self) -> &Remembered<UnfilledMark, Arc<Unfilled>> {
        &self.unfilled
    }

    pub fn path(&self) -> &Path {
        self.worktree.path()
    }

    /// Where git keeps what is this workspace's own: HEAD, the index, and the like.
    pub fn git_dir(&self) -> &Path {
        self.worktree.admin()
    }

    /// The first of the ports that it has; none if they were never asked for.
    pub fn port(&self) -> Option<u16> {
        self.yard.ports.known(self.repo.name(), &self.branch)
    }

    /// The first of the ports that the workspace, which exists, has from now on; none where all are taken.
    pub fn lease_ports(&self) -> io::Result<Option<u16>> {
        self.yard.ports.lease(self.repo.name(), &self.branch)
    }

    /// Whether it is on disk, whole.
    pub fn exists(&self) -> bool {
        self.worktree.is_ready()
    }

    /// Shared access to the files: nothing of ours moves them while it is held.
    pub async fn share_files(&self) -> FilesGuard {
        self.files.share().await
    }

    pub(crate) fn tell(&self, change: WorkspaceChange) {
        let event = WorkspaceEvent {
            repo: self.repo.name().clone(),
            branch: self.branch.clone(),
            change,
        };
        self.repo.news().publish(YardChange::Workspace(event));
    }

    pub(crate) fn record(&self) -> Option<Record> {
        Record::load(self.worktree.admin())
    }

    /// Changes the workspace's record and notes that it was used.
    pub(crate) fn note(&self, change: impl FnOnce(&mut Record)) -> Result<(), Error> {
        let tick = self.yard.ticks.now();
        self.change_record(|record| {
            record.last_used = Timestamp::now();
            record.used_tick = Some(tick);
            change(record);
        })
    }

    /// Notes a use that changed nothing; not each of many in a row costs a write. On a full disk it is
    /// still answered.
    pub(crate) fn note_read(&self) {
        let used = self.record().and_then(|record| record.used_tick);
        let ticks = &self.yard.ticks;
        if ticks.is_known(used) && ticks.since(used) < BETWEEN_NOTES {
            return;
        }
        if let Err(error) = self.note(|_| {}) {
            tracing::warn!(repo = %self.repo.name(), branch = %self.branch, %error, "a use is not written down");
        }
    }

    /// Changes the workspace's record without using the workspace.
    pub(crate) fn change_record(&self, change: impl FnOnce(&mut Record)) -> Result<(), Error> {
        // Read, change, write: two at a time would lose one of the changes.
        let _one_at_a_time = self.record.lock();
        let mut record = self
            .record()
            .unwrap_or_else(|| Record::new(self.branch.clone(), self.yard.ticks.now()));
        change(&mut record);
        record
            .save(self.worktree.admin())
            .map_err(Error::io("record the workspace's use"))?;
        self.tell(WorkspaceChange::Updated);
        Ok(())
    }

    /// Runs work that must not stop halfway to its end, whatever becomes of the caller. The locks that
    /// it needs are taken inside, so that they are held for as long as it takes.
    pub(crate) async fn uninterrupted<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let done = self.yard.tasks.spawn(work).await;
        done.map_err(git::Error::from)?
    }

    /// Runs blocking work on this workspace. If the caller is dropped it goes on without the caller's
    /// locks: whatever changes something belongs inside [`Workspace::uninterrupted`].
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let workspace = self.clone();
        blocking(move || work(&workspace)).await
    }

    /// Runs a blocking look at this workspace, which changes nothing, and is given up if it takes too long.
    pub(crate) async fn looking<T: Send + 'static>(
        self: &Arc<Self>,
        look: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let this = self.clone();
        let look = move || look(&this);
        self.scan_limit
            .look(self.repo.looks(), &self.branch, look)
            .await
    }

    /// Runs blocking work on the repository of this workspace.
    pub async fn with_repository<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &Repository) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.blocking(move |this| work(this, &this.worktree.open()?))
            .await
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.yard.live.forget(self.repo.name(), &self.branch);
    }
}
