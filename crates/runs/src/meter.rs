//! Ends runs whose principal or workspace used up what there is for a day, and runs that fill their workspace beyond what it
//! may take of the disk; and refuses further ones. Nothing is looked at that the operator does not limit.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use parking_lot::Mutex;

use super::live::Live;
use super::open::Runs;
use super::usage::{Used, User, limits_cpu, seconds_left};
use branchyard_config::{ByteSize, Limits};
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, RunKind, RunState};
use branchyard_process::Supervisor;
use branchyard_workspace::{Workspace, sizes};

/// Between two looks at what runs use.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Of the time, so much goes into walking a workspace at most: one part in this many.
const WALKING: u32 = 10;
const FORGOTTEN_AFTER: Duration = Duration::from_secs(600);

/// What is known of the disk that workspaces take up. Each is walked by one at a time.
#[derive(Debug, Default)]
pub(super) struct DiskUse(Mutex<HashMap<PathBuf, Arc<Mutex<Option<Measured>>>>>);

/// What a workspace takes; or why that is not known.
type Taken = Result<u64, String>;

#[derive(Debug, Clone)]
struct Measured {
    taken: Taken,
    at: Instant,
    /// How long the walk took.
    took: Duration,
}

impl DiskUse {
    /// What the workspace takes, measured no longer ago than `fresh`, or than a walk is worth while. Blocks.
    fn of(&self, workspace: &Workspace, fresh: Freshness) -> Taken {
        let path = workspace.path().to_owned();
        let known = {
            let mut all = self.0.lock();
            // Of those that are gone, or not in use for long, nothing need be known.
            all.retain(|_, known| {
                let known = known.try_lock();
                known.is_none_or(|known| known.as_ref().is_none_or(Measured::is_of_use))
            });
            all.entry(path).or_default().clone()
        };
        let mut known = known.lock();
        if let Some(known) = known.as_ref().filter(|known| known.is_fresh(fresh)) {
            return known.taken.clone();
        }
        let at = Instant::now();
        let taken = sizes::disk_use(workspace).map_err(|error| error.to_string());
        *known = Some(Measured {
            taken: taken.clone(),
            at,
            took: at.elapsed(),
        });
        taken
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Freshness {
    /// For the daemon, which looks again and again.
    Usual,
    /// For a caller, who may have removed files just now.
    Now,
}

impl Measured {
    fn is_fresh(&self, wanted: Freshness) -> bool {
        let usual = (self.took * WALKING).max(LOOK_AGAIN);
        self.at.elapsed()
            < match wanted {
                Freshness::Usual => usual,
                Freshness::Now => LOOK_AGAIN,
            }
    }

    fn is_of_use(&self) -> bool {
        self.at.elapsed() < FORGOTTEN_AFTER
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

/// Why the workspace may not take so many bytes more.
fn too_large(taken: &Taken, more: u64, most: ByteSize) -> Option<String> {
    let limit = format!("limits.max_disk_per_workspace is {most}");
    match taken {
        Ok(bytes) if bytes.saturating_add(more) <= most.as_u64() => None,
        Ok(bytes) => {
            let bytes = ByteSize::bytes(*bytes);
            let added = match more {
                0 => String::new(),
                more => format!(", and up to {} are added", ByteSize::bytes(more)),
            };
            Some(format!(
                "the workspace takes up {bytes} of the disk{added}: {limit}"
            ))
        }
        Err(why) => Some(format!(
            "how much of the disk the workspace takes cannot be told ({why}): {limit}"
        )),
    }
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

/// Whether the workspace may take more of the disk: `more` bytes, where that is known.
pub async fn check_disk(runs: &Runs, workspace: &Arc<Workspace>, more: u64) -> Result<(), Problem> {
    let Some(most) = runs.inner().config.limits.max_disk_per_workspace else {
        return Ok(());
    };
    let usual = disk_use(runs, workspace, Freshness::Usual).await;
    if too_large(&usual, more, most).is_none() {
        return Ok(());
    }
    let now = disk_use(runs, workspace, Freshness::Now).await;
    let Some(detail) = too_large(&now, more, most) else {
        return Ok(());
    };
    Err(Problem::new(ErrorKind::Conflict, "workspace_too_large", detail)
        .field("branch")
        .help("remove files (delete_file, git_clean), or the workspace; the operator can raise the limit"))
}

/// Looks at what runs use until the daemon leaves.
pub(super) async fn meter(runs: Runs) {
    // A walk through a large workspace keeps none from being ended that used up its day.
    tokio::join!(
        end_what_used_up_its_day(&runs),
        end_what_fills_its_workspace(&runs)
    );
}

async fn end_what_used_up_its_day(runs: &Runs) {
    let limits = &runs.inner().config.limits;
    while limits_cpu(limits) {
        tokio::time::sleep(LOOK_AGAIN).await;
        let running = running(runs);
        let inner = runs.inner().clone();
        let count = move || {
            let taken = running.into_iter().filter_map(|live| {
                let (id, home) = (live.id(), inner.history.home(live.id()));
                let cpu = Supervisor::cpu_time(&home, &inner.mechanisms, id)?;
                Some((live, cpu))
            });
            let taken: Vec<_> = taken.collect();
            let counted: Vec<_> = taken
                .iter()
                // One that has ended meanwhile was counted to its end.
                .filter(|(live, _)| !live.has_ended())
                .map(|(live, cpu)| (live.id(), users(live), *cpu))
                .collect();
            inner.usage.count_cpu(&counted);
            taken
        };
        let Ok(taken) = tokio::task::spawn_blocking(count).await else {
            continue;
        };
        for (live, _) in &taken {
            for user in users(live) {
                // They were counted when they were started.
                let used = Used {
                    runs: 0,
                    ..runs.inner().usage.of(&user)
                };
                if let Some(reason) = Quota::of(limits, &user).used_up(used, 0) {
                    live.viewers().stop(&reason);
                }
            }
        }
    }
}

fn users(live: &Live) -> [User; 2] {
    let spec = &live.look().spec;
    users_of(live.account(), &spec.repo, &spec.branch)
}

async fn end_what_fills_its_workspace(runs: &Runs) {
    while let Some(most) = runs.inner().config.limits.max_disk_per_workspace {
        tokio::time::sleep(LOOK_AGAIN).await;
        for live in running(runs) {
            let Some(workspace) = runs.inner().workspace_of(&live.record().spec) else {
                continue;
            };
            let taken = disk_use(runs, &workspace, Freshness::Usual).await;
            if let Some(reason) = too_large(&taken, 0, most) {
                live.viewers().stop(&reason);
            }
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

async fn disk_use(runs: &Runs, workspace: &Arc<Workspace>, fresh: Freshness) -> Taken {
    let (inner, workspace) = (runs.inner().clone(), workspace.clone());
    let walk = move || inner.disk_use.of(&workspace, fresh);
    let walked = tokio::task::spawn_blocking(walk).await;
    walked.unwrap_or_else(|error| Err(error.to_string()))
}
