//! Which workspaces are in use, and which there are. The map holds only those that somebody holds:
//! an entry goes with its last user, so it cannot grow beyond what is in use.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock as Gate, Weak};

use dashmap::DashMap;
use tokio::sync::{Notify, OwnedRwLockReadGuard, RwLock, Semaphore};
use tokio_util::task::TaskTracker;

use super::names::Names;
use super::scan_limit::ScanLimit;
use super::scanner::Scanner;
use super::warm::Lending;
use super::{Error, Ticks, WorkspaceQueue};
use crate::repos::Repo;
use branchyard_config::Config;
use branchyard_git::Worktree;
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName};
use branchyard_runtime::disk::{KnownDir, Trash};
use branchyard_runtime::yard_events::{WorkspaceChange, WorkspaceEvent};

/// The files of a workspace, shared: nothing of ours moves them while it is held.
pub type FilesGuard = OwnedRwLockReadGuard<()>;

type Key = (RepoName, BranchName);
type Live = DashMap<Key, Weak<Workspace>>;

#[derive(Debug)]
pub struct Workspaces {
    pub(super) grounds: Arc<Grounds>,
    /// Where it is noted whose branch is whose.
    pub(super) agents: PathBuf,
    /// Closed for a moment while a store goes, so that nobody steps in who has seen it.
    gate: Gate<()>,
    names: Names,
    /// Where the yard keeps its own state.
    state: KnownDir,
}

#[derive(Debug)]
pub struct Workspace {
    pub repo: Arc<Repo>,
    pub branch: BranchName,
    pub queue: WorkspaceQueue,
    pub(super) files: Arc<RwLock<()>>,
    pub(super) worktree: Worktree,
    pub(super) grounds: Arc<Grounds>,
    /// Held while the record is changed.
    pub(super) record: Mutex<()>,
    /// Those who copy from it.
    pub(super) lending: Lending,
    pub(super) looks: Scanner,
    pub(super) scan_limit: ScanLimit,
}

/// What all workspaces have in common.
#[derive(Debug)]
pub(super) struct Grounds {
    live: Live,
    /// Checkouts are bound by the disk and the cores, not by how many were asked for.
    pub(super) checkouts: Semaphore,
    pub(super) tasks: TaskTracker,
    pub(super) trash: Trash,
    /// Where archives of salvage are kept.
    pub(super) archives: PathBuf,
    pub(super) ticks: Arc<Ticks>,
    /// Told of every workspace that is made.
    pub(super) made: Notify,
}

impl Workspaces {
    pub fn new(
        config: &Config,
        tasks: TaskTracker,
        trash: Trash,
        ticks: Arc<Ticks>,
        state: &Path,
    ) -> Self {
        let grounds = Grounds {
            live: Live::new(),
            checkouts: Semaphore::new(config.limits.max_concurrent_checkouts),
            tasks,
            trash,
            archives: state.join("salvage"),
            ticks,
            made: Notify::new(),
        };
        Self {
            grounds: Arc::new(grounds),
            agents: state.join("agents"),
            gate: Gate::default(),
            names: Names::default(),
            state: KnownDir::of(state),
        }
    }

    /// An error if the yard is not where it was when the daemon started: what is there now may be a copy of it, or
    /// nothing, while the daemon's own records are elsewhere.
    pub fn check_place(&self) -> Result<(), Problem> {
        if self.state.is_same() {
            return Ok(());
        }
        let detail = format!(
            "{} is not the directory that this daemon was started with: it was moved or replaced",
            self.state.path().display()
        );
        Err(Problem::new(ErrorKind::Unavailable, "yard_moved", detail).help(
            "nothing is changed until it is back; or stop this daemon, and start one where the yard is now",
        ))
    }

    /// The workspace of this branch, whether it exists on disk yet or not, for somebody who asked for it.
    pub fn get(&self, repo: &Arc<Repo>, branch: &BranchName) -> Arc<Workspace> {
        repo.touch();
        self.look_at(repo, branch)
    }

    /// As [`Workspaces::get`], for upkeep and for those who only watch, which is no use of a repo.
    pub fn look_at(&self, repo: &Arc<Repo>, branch: &BranchName) -> Arc<Workspace> {
        let _open = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        self.grounds.workspace(repo, branch)
    }

    /// Whether somebody holds a workspace of this repo.
    pub fn is_in_use(&self, repo: &RepoName) -> bool {
        self.grounds.live.iter().any(|entry| entry.key().0 == *repo)
    }

    /// The workspace of this branch, if somebody holds it.
    pub(super) fn held(&self, repo: &RepoName, branch: &BranchName) -> Option<Arc<Workspace>> {
        let entry = self.grounds.live.get(&(repo.clone(), branch.clone()))?;
        entry.upgrade()
    }

    /// The branches of `repo` that have a workspace on disk, sorted.
    pub fn on_disk(&self, repo: &Repo) -> Arc<[BranchName]> {
        self.names.of(repo)
    }

    /// Does `work` on a repo of which nobody holds a workspace, and nobody gets one meanwhile; `None` if
    /// somebody does. It must be quick: everybody waits for it.
    pub(super) fn while_nobody_uses<T>(
        &self,
        repo: &RepoName,
        work: impl FnOnce() -> T,
    ) -> Option<T> {
        let _closed = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        let is_used = self.grounds.live.iter().any(|entry| entry.key().0 == *repo);
        (!is_used).then(work)
    }

    /// How many workspaces somebody holds right now.
    pub fn in_use(&self) -> usize {
        self.grounds.live.len()
    }
}

impl Grounds {
    /// The workspace of this branch that somebody holds, or else a new one.
    fn workspace(self: &Arc<Self>, repo: &Arc<Repo>, branch: &BranchName) -> Arc<Workspace> {
        let key = (repo.name.clone(), branch.clone());
        let mut entry = self.live.entry(key).or_default();
        if let Some(workspace) = entry.upgrade() {
            return workspace;
        }
        let path = repo.home().join(branch.dir().as_str());
        let workspace = Arc::new(Workspace {
            worktree: Worktree::new(repo.store(), path, branch.clone()),
            queue: WorkspaceQueue::of(repo.news.clone(), repo.name.clone(), branch.clone()),
            repo: repo.clone(),
            branch: branch.clone(),
            files: Arc::default(),
            grounds: self.clone(),
            record: Mutex::default(),
            lending: Lending::default(),
            looks: Scanner::default(),
            scan_limit: ScanLimit::default(),
        });
        *entry = Arc::downgrade(&workspace);
        workspace
    }
}

impl Workspace {
    /// The workspace of another branch of the same repo. No store goes from under it, for this one is held.
    pub(super) fn sibling(&self, branch: &BranchName) -> Arc<Self> {
        self.grounds.workspace(&self.repo, branch)
    }

    pub(super) fn tell(&self, change: WorkspaceChange) {
        self.repo.news.publish(WorkspaceEvent {
            repo: self.repo.name.clone(),
            branch: self.branch.clone(),
            change,
        });
    }

    pub fn path(&self) -> &std::path::Path {
        self.worktree.path()
    }

    /// Where git keeps what is this workspace's own: HEAD, the index, and the like.
    pub fn git_dir(&self) -> &std::path::Path {
        self.worktree.admin()
    }

    /// Whether it is on disk, whole.
    pub fn exists(&self) -> bool {
        self.worktree.is_ready()
    }

    /// Shared access to the files: nothing of ours moves them while it is held.
    pub async fn share_files(&self) -> FilesGuard {
        self.files.clone().read_owned().await
    }

    /// Runs work that must not stop halfway to its end, whatever becomes of the caller. The locks that
    /// it needs are taken inside, so that they are held for as long as it takes.
    pub(super) async fn uninterrupted<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        self.grounds
            .tasks
            .spawn(work)
            .await
            .map_err(|error| Error::Git(error.into()))?
    }

    /// Runs blocking work on this workspace. If the caller is dropped it goes on without the caller's
    /// locks: whatever changes something belongs inside [`Workspace::uninterrupted`].
    pub(super) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let workspace = self.clone();
        tokio::task::spawn_blocking(move || work(&workspace))
            .await
            .map_err(|error| Error::Git(error.into()))?
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // A successor may already stand in the map; only our own, dead entry goes.
        let key = (self.repo.name.clone(), self.branch.clone());
        self.grounds
            .live
            .remove_if(&key, |_, weak| weak.strong_count() == 0);
    }
}
