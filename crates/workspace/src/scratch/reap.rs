//! What the reaper asks of the pool: which are idle, how large they are, and to remove them.

use std::sync::Arc;
use std::time::Duration;

use super::pool::ScratchPool;
use crate::blocking::blocking;
use crate::repos::Repo;
use crate::sizes::size_of;
use branchyard_git::DetachedWorktree;
use branchyard_process::is_in_use;

const REGISTRY_PATIENCE: Duration = Duration::from_secs(1);

/// A scratch worktree without a lease.
#[derive(Debug, Clone)]
pub(crate) struct IdleScratch {
    pub(crate) repo: Arc<Repo>,
    pub(crate) number: u32,
    /// Seconds since its last use.
    pub(crate) idle: u64,
    /// As it was last measured.
    pub(crate) bytes: Option<u64>,
}

impl ScratchPool {
    /// Those of a repo, as far as they are known without a look at their files. Blocks.
    pub(crate) fn idle(&self, repo: &Arc<Repo>) -> Vec<IdleScratch> {
        let known = self.shared().with(repo, |known| known.idle().clone());
        let all = known.into_iter().map(|(number, idle)| IdleScratch {
            repo: repo.clone(),
            number,
            // One that does not say when is half made, or from before the machine was started: nothing in it is of use.
            idle: self.shared().ticks().since(Some(idle.used.unwrap_or(0))),
            bytes: idle.bytes,
        });
        all.collect()
    }

    /// Those of a repo, measured where they were not since their last use. Blocks.
    pub(crate) fn measured(&self, repo: &Arc<Repo>) -> Vec<IdleScratch> {
        let mut all = self.idle(repo);
        for idle in all.iter_mut().filter(|idle| idle.bytes.is_none()) {
            let bytes = size_of(DetachedWorktree::scratch(repo.store(), idle.number).path());
            self.shared()
                .with(repo, |known| known.measured(idle.number, bytes));
            idle.bytes = Some(bytes);
        }
        all
    }

    /// What those of a repo take up, as far as they were measured.
    pub(crate) fn idle_bytes(&self, repo: &Repo) -> u64 {
        self.shared().with(repo, |known| {
            let bytes = known.idle().values().filter_map(|idle| idle.bytes);
            bytes.sum()
        })
    }

    /// Removes one if it is still idle. An error says why it stays.
    pub(crate) async fn remove_idle(&self, idle: &IdleScratch) -> Result<(), String> {
        let (pool, idle) = (self.clone(), idle.clone());
        let removal = async move { pool.remove(&idle).await };
        let removed = self.shared().tasks().spawn(removal).await;
        removed.unwrap_or_else(|error| Err(error.to_string()))
    }

    async fn remove(&self, idle: &IdleScratch) -> Result<(), String> {
        let (repo, number) = (&idle.repo, idle.number);
        let lock = tokio::time::timeout(REGISTRY_PATIENCE, repo.registry().lock()).await;
        let Ok(_registry) = lock else {
            return Err("other worktrees of the repository are being made".to_owned());
        };
        let Some(known) = self.shared().with(repo, |known| known.take_idle(number)) else {
            return Err("a job came to use it".to_owned());
        };
        let worktree = DetachedWorktree::scratch(repo.store(), number);
        let (gone, trash) = (worktree.clone(), self.shared().trash().clone());
        let discard = blocking(move || {
            let is_used = is_in_use(gone.path());
            if !is_used {
                gone.discard(&trash)?;
            }
            Ok(is_used)
        });
        let removed = match discard.await {
            Ok(false) => Ok(()),
            Ok(true) => Err("a process has its working directory or an open file there".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let left = worktree.is_there().then_some(known);
        self.shared()
            .with(repo, |known| known.give_back(number, left));
        self.shared().wake();
        removed
    }
}
