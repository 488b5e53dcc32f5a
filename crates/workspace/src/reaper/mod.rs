//! The reaper: keeps the yard within its limits of age, number and room, and takes nothing that anybody
//! could miss. Cheap things go first: build output, then workspaces without work, then idle stores.
//!
//! `survey` finds out, `plan` decides, `act` does it and looks again before it does; `pass` is all three.

mod act;
mod input;
mod merged;
mod pass;
mod plan;
mod report;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::{Ticks, Workspaces};
use crate::repos::Repos;
use crate::salvage;
use branchyard_config::ReaperConfig;
use branchyard_db::security_db::audit::{Audit, AuditOutcome, Call, End, Via};
use branchyard_model::{BranchName, RepoName};
use branchyard_runtime::background::Loops;
use input::Care;
pub use plan::ReapAction;
pub use report::{MergedBranch, Outcome as ReapOutcome, Reaped, Reaping};

/// How many actions are remembered.
const REMEMBERED: usize = 500;
/// Several workspaces are often made at once, and counted once.
const AFTER_MAKING: Duration = Duration::from_secs(1);
/// How much of the count of idle time a crash may cost.
const BETWEEN_SAVES: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Reaper {
    config: ReaperConfig,
    /// The directory of all workspaces.
    root: PathBuf,
    repos: Arc<Repos>,
    workspaces: Arc<Workspaces>,
    audit: Audit,
    /// Two passes would plan with the same bytes.
    one_at_a_time: tokio::sync::Mutex<()>,
    /// The latest last.
    recent: Mutex<VecDeque<Reaped>>,
    next_pass: Mutex<Option<Timestamp>>,
    /// The size of each store, as it was last measured.
    stores: Mutex<HashMap<RepoName, u64>>,
    /// The daemon leaves: what was not done yet is for the next one.
    closing: CancellationToken,
}

impl Reaper {
    pub fn new(
        config: ReaperConfig,
        root: PathBuf,
        repos: Arc<Repos>,
        workspaces: Arc<Workspaces>,
        audit: Audit,
    ) -> Arc<Self> {
        Arc::new(Self {
            config,
            root,
            repos,
            workspaces,
            audit,
            one_at_a_time: tokio::sync::Mutex::default(),
            recent: Mutex::default(),
            next_pass: Mutex::default(),
            stores: Mutex::default(),
            closing: CancellationToken::new(),
        })
    }

    /// Works in the background until `closing`.
    pub fn start(self: &Arc<Self>, loops: Loops, closing: &CancellationToken) {
        let (this, closing) = (self.clone(), closing.clone());
        let worker = self.clone();
        let work = loops.keep("reaper", move || worker.clone().work());
        self.workspaces.yard().tasks.spawn(async move {
            tokio::select! {
                () = work => {}
                () = closing.cancelled() => this.closing.cancel(),
            }
            save(&this.workspaces.yard().ticks);
        });
    }

    /// What it would do, or with `dry_run` off does, now; of one repo only if `only` names it.
    pub async fn reap(self: &Arc<Self>, dry_run: bool, only: Option<RepoName>) -> Option<Reaping> {
        let mut reaping = self.guarded(Care::Whole, dry_run, only.clone()).await?;
        reaping.branches = self.merged(dry_run, only.clone()).await?;
        if !dry_run {
            self.expire_salvage(only.as_ref()).await;
        }
        Some(reaping)
    }

    /// The last actions, the latest first, and when it looks again.
    pub fn recent(&self) -> (Vec<Reaped>, Option<Timestamp>) {
        let recent = self.recent.lock().iter().rev().cloned().collect();
        (recent, *self.next_pass.lock())
    }

    /// How many bytes a repo's store has, if it was measured.
    pub fn store_size(&self, repo: &RepoName) -> Option<u64> {
        self.stores.lock().get(repo).copied()
    }

    async fn work(self: Arc<Self>) {
        let made = &self.workspaces.yard().made;
        let mut due = self.next_due();
        let mut save_due = tokio::time::Instant::now() + BETWEEN_SAVES;
        loop {
            let care = tokio::select! {
                () = tokio::time::sleep_until(due) => Care::Usual,
                () = made.notified() => Care::Counts,
                () = tokio::time::sleep_until(save_due) => {
                    save(&self.workspaces.yard().ticks);
                    save_due = tokio::time::Instant::now() + BETWEEN_SAVES;
                    continue;
                }
            };
            if care == Care::Counts {
                tokio::time::sleep(AFTER_MAKING).await;
            }
            self.guarded(care, false, None).await;
            if care == Care::Usual {
                self.merged(false, None).await;
                self.expire_salvage(None).await;
                due = self.next_due();
            }
        }
    }

    /// Lets go of saved work that was kept for long enough.
    async fn expire_salvage(&self, only: Option<&RepoName>) {
        for repo in self.repos.list() {
            if !repo.is_cloned() || only.is_some_and(|only| *repo.name() != *only) {
                continue;
            }
            let expired =
                salvage::expire_salvage(&self.workspaces, &repo, self.config.salvage_ttl).await;
            match expired {
                Ok(0) => {}
                Ok(gone) => self.record("salvage.expire", repo.name(), None, gone as u64),
                Err(error) => {
                    tracing::warn!(repo = %repo.name(), %error, "salvage cannot be let go of");
                }
            }
        }
    }

    /// Records what nobody asked for by name, and how often it was done there.
    fn record(&self, action: &str, repo: &RepoName, branch: Option<&BranchName>, count: u64) {
        let mut call = Call::new(Via::Daemon, action);
        call.repo = Some(repo.clone());
        call.branch = branch.cloned();
        let mut end = End::new(AuditOutcome::Allowed);
        end.count = count;
        self.audit.record(call, end);
    }

    /// Merged branches, in a task of its own as well: what has begun comes to its end.
    async fn merged(
        self: &Arc<Self>,
        dry_run: bool,
        only: Option<RepoName>,
    ) -> Option<Vec<MergedBranch>> {
        let this = self.clone();
        let deleting = async move { merged::delete_merged(&this, dry_run, only.as_ref()).await };
        self.workspaces
            .yard()
            .tasks
            .spawn(deleting)
            .await
            .inspect_err(|error| tracing::error!(%error, "merged branches were not seen to"))
            .ok()
    }

    fn next_due(&self) -> tokio::time::Instant {
        *self.next_pass.lock() = Timestamp::now().checked_add(self.config.interval).ok();
        tokio::time::Instant::now() + self.config.interval
    }

    /// A pass in a task of its own: whoever asked for it may go, and a panic ends the pass alone.
    async fn guarded(
        self: &Arc<Self>,
        care: Care,
        dry_run: bool,
        only: Option<RepoName>,
    ) -> Option<Reaping> {
        let this = self.clone();
        let pass = async move { this.pass(care, dry_run, only.as_ref()).await };
        self.workspaces
            .yard()
            .tasks
            .spawn(pass)
            .await
            .inspect_err(|error| tracing::error!(%error, "a pass of the reaper failed"))
            .ok()
    }
}

fn save(ticks: &Ticks) {
    if let Err(error) = ticks.save() {
        tracing::warn!(%error, "the count of idle time cannot be written down");
    }
}
