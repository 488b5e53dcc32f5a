//! Ends runs whose principal or workspace used up what there is for a day, and runs that fill their workspace beyond what it
//! may take of the disk; and refuses further ones. Nothing is looked at that the operator does not limit.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::live::Live;
use super::open::{Runs, RunsInner};
use super::usage::{Used, User, limits_cpu, seconds_left};
use branchyard_config::{ByteSize, Limits};
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, RunKind, RunState};
use branchyard_process::Supervisor;
use branchyard_workspace::{Workspace, sizes};

/// Between two looks at what runs use.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Of the time, so much goes into walking a workspace at most: one part in this many.
const WALKING: u32 = 10;

/// What is known of the disk that workspaces take up.
#[derive(Debug, Default)]
pub(super) struct DiskUse(Mutex<HashMap<(RepoName, BranchName), Measured>>);

#[derive(Debug, Clone, Copy)]
struct Measured {
    bytes: u64,
    next: Instant,
}

impl DiskUse {
    /// Walks the workspace if it is time to; what it takes, as it was last measured. Blocks.
    fn of(&self, workspace: &Workspace) -> u64 {
        let key = (workspace.repo().name().clone(), workspace.branch().clone());
        let known = self.0.lock().get(&key).copied();
        let began = Instant::now();
        match known {
            Some(known) if known.next > began => known.bytes,
            _ => {
                let bytes = sizes::disk_use(workspace);
                let next = Instant::now() + (began.elapsed() * WALKING).max(LOOK_AGAIN);
                self.0.lock().insert(key, Measured { bytes, next });
                bytes
            }
        }
    }
}

/// Whether there is something that runs are looked at for.
pub(super) fn is_metered(limits: &Limits) -> bool {
    limits_cpu(limits) || limits.max_disk_per_workspace.is_some()
}

/// Those that a run counts for.
pub(super) fn users_of(account: &str, repo: &RepoName, branch: &BranchName) -> [User; 2] {
    [
        User::Principal(account.to_owned()),
        User::Workspace(repo.clone(), branch.clone()),
    ]
}

/// How much of each there may be, and by which key.
struct Quota {
    runs: Option<usize>,
    runs_key: &'static str,
    cpu: Option<Duration>,
    cpu_key: &'static str,
    whose: String,
}

impl Quota {
    fn of(limits: &Limits, user: &User) -> Self {
        match user {
            User::Principal(name) => Self {
                runs: limits.max_runs_per_day_per_principal,
                runs_key: "limits.max_runs_per_day_per_principal",
                cpu: limits.max_cpu_per_day_per_principal,
                cpu_key: "limits.max_cpu_per_day_per_principal",
                whose: name.clone(),
            },
            User::Workspace(repo, branch) => Self {
                runs: limits.max_runs_per_day_per_workspace,
                runs_key: "limits.max_runs_per_day_per_workspace",
                cpu: limits.max_cpu_per_day_per_workspace,
                cpu_key: "limits.max_cpu_per_day_per_workspace",
                whose: format!("the workspace of {branch} in {repo}"),
            },
        }
    }

    /// Why there is nothing left for so many more runs.
    fn used_up(&self, used: Used, more: usize) -> Option<String> {
        if let Some(most) = self.cpu.filter(|most| used.cpu >= *most) {
            let most = humantime::format_duration(most);
            return Some(format!(
                "the runs of {} took all of the processor time that there is for a day: {} is {most}",
                self.whose, self.cpu_key
            ));
        }
        let most = self.runs.filter(|most| used.runs + more > *most)?;
        let (whose, key) = (&self.whose, self.runs_key);
        Some(format!(
            "{} runs of {whose} were started today: {key} is {most}",
            used.runs
        ))
    }
}

fn too_large(bytes: u64, most: ByteSize) -> String {
    let bytes = ByteSize::bytes(bytes);
    format!("the workspace takes up {bytes} of the disk: limits.max_disk_per_workspace is {most}")
}

/// Whether a run of the account may be started on each of these branches today.
pub(super) fn check_usage(
    runs: &Runs,
    account: &str,
    repo: &RepoName,
    branches: &[BranchName],
) -> Result<(), Problem> {
    let (limits, usage) = (&runs.inner().config.limits, &runs.inner().usage);
    let workspaces = branches.iter();
    let workspaces = workspaces.map(|branch| (User::Workspace(repo.clone(), branch.clone()), 1));
    let principal = (User::Principal(account.to_owned()), branches.len());
    for (user, more) in workspaces.chain([principal]) {
        if let Some(detail) = Quota::of(limits, &user).used_up(usage.of(&user), more) {
            return Err(Problem::new(ErrorKind::TooMany, "used_up", detail)
                .help("wait until midnight UTC, or have the operator raise the limit")
                .retry_after(seconds_left(Timestamp::now())));
        }
    }
    Ok(())
}

/// Whether the workspace may take more of the disk.
pub(super) async fn check_disk(runs: &Runs, workspace: &Arc<Workspace>) -> Result<(), Problem> {
    let Some(most) = runs.inner().config.limits.max_disk_per_workspace else {
        return Ok(());
    };
    let bytes = disk_use(runs.inner(), workspace).await;
    if bytes <= most.as_u64() {
        return Ok(());
    }
    Err(Problem::new(
        ErrorKind::Conflict,
        "workspace_too_large",
        too_large(bytes, most),
    )
    .field("branch")
    .help(
        "remove files (delete_file, git_clean), or the workspace; the operator can raise the limit",
    ))
}

/// Looks at what runs use until the daemon leaves.
pub(super) async fn meter(runs: Runs) {
    loop {
        tokio::time::sleep(LOOK_AGAIN).await;
        end_what_used_up_its_day(&runs).await;
        end_what_fills_its_workspace(&runs).await;
    }
}

async fn end_what_used_up_its_day(runs: &Runs) {
    let limits = &runs.inner().config.limits;
    if !limits_cpu(limits) {
        return;
    }
    let (running, inner) = (running(runs), runs.inner().clone());
    let measure = move || {
        let measured = running.into_iter().map(|live| {
            let (id, home) = (live.id(), inner.history.home(live.id()));
            let cpu = Supervisor::cpu_time(&home, &inner.mechanisms, id);
            (live, cpu.unwrap_or_default())
        });
        measured.collect::<Vec<_>>()
    };
    let Ok(measured) = tokio::task::spawn_blocking(measure).await else {
        return;
    };
    let mut now: BTreeMap<User, Used> = BTreeMap::new();
    let users = |live: &Live| {
        let spec = &live.look().spec;
        users_of(live.account(), &spec.repo, &spec.branch)
    };
    for (live, cpu) in &measured {
        for user in users(live) {
            // They were counted when they were started.
            let earlier = Used {
                runs: 0,
                ..runs.inner().usage.of(&user)
            };
            now.entry(user).or_insert(earlier).cpu += *cpu;
        }
    }
    for (live, _) in &measured {
        for user in users(live) {
            let used = now.get(&user).copied().unwrap_or_default();
            if let Some(reason) = Quota::of(limits, &user).used_up(used, 0) {
                live.viewers().stop(&reason);
            }
        }
    }
}

async fn end_what_fills_its_workspace(runs: &Runs) {
    let Some(most) = runs.inner().config.limits.max_disk_per_workspace else {
        return;
    };
    for live in running(runs) {
        let Some(workspace) = runs.inner().workspace_of(&live.record().spec) else {
            continue;
        };
        let bytes = disk_use(runs.inner(), &workspace).await;
        if bytes > most.as_u64() {
            live.viewers().stop(&too_large(bytes, most));
        }
    }
}

fn running(runs: &Runs) -> Vec<Arc<Live>> {
    let all = runs.inner().live.iter();
    let running = all.filter(|live| {
        let record = live.look();
        record.state == RunState::Running && record.spec.kind != RunKind::Git
    });
    running.map(|live| live.clone()).collect()
}

async fn disk_use(inner: &Arc<RunsInner>, workspace: &Arc<Workspace>) -> u64 {
    let (inner, workspace) = (inner.clone(), workspace.clone());
    let walked = tokio::task::spawn_blocking(move || inner.disk_use.of(&workspace)).await;
    // A walk that fails tells nothing; the next one is soon.
    walked.unwrap_or(0)
}
