//! How busy the machine is, and what fills its disk: of the yard, what one may see.

use std::fs;
use std::sync::Arc;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AuthorizedApp, Queue};
use crate::app::yard_events;
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, RunId};
use branchyard_runtime::background::LoopStatus;
use branchyard_runtime::disk::Room;
use branchyard_workspace::repos::Repo;
use branchyard_workspace::sizes;

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Load {
    pub cores: usize,
    /// Over the last one, five and fifteen minutes.
    pub load: [f64; 3],
    pub memory: Memory,
    pub disk: Space,
    pub runs: Slots,
    /// In the order of request.
    pub waiting: Vec<WaitingRun>,
    /// What the daemon does by itself, and whether it does.
    pub background: Vec<LoopStatus>,
    /// Only for those who see all branches.
    pub repos: Vec<RepoUsage>,
}

/// Bytes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Memory {
    pub total: u64,
    pub available: Option<u64>,
}

/// Bytes of the file system that the workspaces are on.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Space {
    pub total: Option<u64>,
    pub free: Option<u64>,
}

#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Slots {
    #[serde(flatten)]
    pub queue: Queue,
    /// How many may run at the same time.
    pub at_once: usize,
}

#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct WaitingRun {
    pub run_id: RunId,
    pub repo: RepoName,
    pub branch: BranchName,
    pub argv: Vec<String>,
    /// How many come first; 0 while it was not told.
    pub position: usize,
    pub since: Timestamp,
}

/// Bytes that a repo takes up, as they were last measured.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct RepoUsage {
    pub repo: RepoName,
    pub workspaces: usize,
    pub clone: Option<u64>,
    pub source: u64,
    pub build_output: u64,
}

pub async fn current(this: &AuthorizedApp) -> Result<Load, Problem> {
    let app = this.clone();
    let reading = tokio::task::spawn_blocking(move || read_load(&app));
    reading.await.map_err(|error| {
        let detail = format!("the machine could not be looked at: {error}");
        Problem::new(ErrorKind::Internal, "look_failed", detail)
    })
}

fn read_load(app: &AuthorizedApp) -> Load {
    let info = rustix::system::sysinfo();
    let room = Room::of(&app.yard().config.workspaces).ok();
    let sees = |repo: &RepoName, branch: &BranchName| app.principal().sees(repo, branch);
    let waiting = app.yard().runs.waiting(sees).into_iter();
    Load {
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        load: load_average(),
        memory: Memory {
            total: info.totalram * u64::from(info.mem_unit),
            available: available_memory(),
        },
        disk: Space {
            total: room.as_ref().map(Room::total),
            free: room.as_ref().map(Room::free),
        },
        runs: Slots {
            queue: yard_events::read_queue(app),
            at_once: app.yard().config.limits.max_concurrent_runs,
        },
        waiting: waiting
            .map(|(record, position)| WaitingRun {
                run_id: record.run_id,
                repo: record.spec.repo,
                branch: record.spec.branch,
                argv: record.spec.argv,
                position,
                since: record.created_at,
            })
            .collect(),
        background: app.yard().loops.status(),
        repos: usage_of_repos(app),
    }
}

fn usage_of_repos(app: &AuthorizedApp) -> Vec<RepoUsage> {
    // How much is in a repo tells of all its branches.
    if app.principal().require_all_branches().is_err() {
        return Vec::new();
    }
    let usage = |repo: Arc<Repo>| {
        let of = sizes::usage(&app.yard().workspaces, &repo);
        RepoUsage {
            repo: repo.name().clone(),
            workspaces: of.workspaces,
            clone: app.yard().reaper.store_size(repo.name()),
            source: of.source,
            build_output: of.build_output,
        }
    };
    app.repos().into_iter().map(usage).collect()
}

fn load_average() -> [f64; 3] {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let mut numbers = text.split(' ').map(|number| number.parse().unwrap_or(0.0));
    std::array::from_fn(|_| numbers.next().unwrap_or(0.0))
}

fn available_memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}
