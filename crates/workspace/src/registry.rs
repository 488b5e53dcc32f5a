//! Which workspaces are in use, and which there are.

use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::{Notify, Semaphore};
use tokio_util::task::TaskTracker;

use crate::Ticks;
use crate::agents::AgentBranches;
use crate::live::Live;
use crate::names::Names;
use crate::ports::Ports;
use crate::repos::Repo;
use crate::scratch::ScratchPool;
use crate::setup::KeptSetups;
use crate::workspace::{Workspace, Yard};
use branchyard_config::Config;
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName};
use branchyard_runtime::disk::{KnownDir, Trash};

#[derive(Debug)]
pub struct Workspaces {
    yard: Arc<Yard>,
    scratch: ScratchPool,
    agents: AgentBranches,
    /// Closed for a moment while a store goes, so that nobody steps in who has seen it.
    gate: RwLock<()>,
    names: Names,
    /// Where the yard keeps its own state.
    state: KnownDir,
}

impl Workspaces {
    pub fn new(
        config: &Config,
        tasks: TaskTracker,
        trash: Trash,
        ticks: Arc<Ticks>,
        state: &Path,
    ) -> Self {
        let checkouts = Arc::new(Semaphore::new(config.limits.max_concurrent_checkouts));
        let setups = Arc::new(KeptSetups::at(state.join("setups")));
        let scratch = ScratchPool::new(
            trash.clone(),
            tasks.clone(),
            checkouts.clone(),
            ticks.clone(),
            setups.clone(),
        );
        let yard = Yard {
            live: Live::new(),
            checkouts,
            tasks,
            trash,
            archives: state.join("salvage"),
            ports: Ports::at(
                state.join("ports.json"),
                config.build.ports.clone(),
                &config.workspaces,
            ),
            setups,
            ticks,
            made: Notify::new(),
        };
        Self {
            yard: Arc::new(yard),
            scratch,
            agents: AgentBranches::at(state.join("agents")),
            gate: RwLock::default(),
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

    pub fn agents(&self) -> &AgentBranches {
        &self.agents
    }

    /// The worktrees of jobs, which are no workspace's.
    pub fn scratch(&self) -> &ScratchPool {
        &self.scratch
    }

    pub(super) fn yard(&self) -> &Yard {
        &self.yard
    }

    /// The workspace of this branch, whether it exists on disk yet or not, for somebody who asked for it.
    pub fn get(&self, repo: &Arc<Repo>, branch: &BranchName) -> Arc<Workspace> {
        repo.touch();
        self.look_at(repo, branch)
    }

    /// As [`Workspaces::get`], for upkeep and for those who only watch, which is no use of a repo.
    pub fn look_at(&self, repo: &Arc<Repo>, branch: &BranchName) -> Arc<Workspace> {
        let _open = self.gate.read();
        Workspace::of(&self.yard, repo, branch)
    }

    /// Whether somebody holds a workspace of this repo.
    pub fn is_in_use(&self, repo: &RepoName) -> bool {
        self.yard.live.has_any_of(repo)
    }

    /// The workspace of this branch, if somebody holds it.
    pub(super) fn held(&self, repo: &RepoName, branch: &BranchName) -> Option<Arc<Workspace>> {
        self.yard.live.held(repo, branch)
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
        let _closed = self.gate.write();
        let is_used = self.yard.live.has_any_of(repo);
        (!is_used).then(work)
    }

    /// How many workspaces somebody holds right now.
    pub fn in_use(&self) -> usize {
        self.yard.live.count()
    }
}
