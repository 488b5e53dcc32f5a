//! What principals and workspaces used today, beside what their runs use that are under way. It is kept on disk, so that a
//! restart gives none of it back. Days are those of UTC.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use branchyard_config::Limits;
use branchyard_model::{BranchName, RepoName, RunId};
use branchyard_runtime::disk::{read_json, write_json};

const FILE: &str = "usage.json";

#[derive(Debug)]
pub(super) struct Usage {
    is_limited: bool,
    file: PathBuf,
    today: Mutex<Today>,
}

/// Who or what something is used by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum User {
    Principal(String),
    Workspace(RepoName, BranchName),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Used {
    pub(super) runs: usize,
    pub(super) cpu: Duration,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Today {
    date: Date,
    used: BTreeMap<String, Used>,
    /// How much of the processor time of runs that have not ended is counted already, on whichever day.
    #[serde(default)]
    counted: BTreeMap<RunId, Duration>,
}

impl User {
    fn key(&self) -> String {
        match self {
            Self::Principal(name) => format!("principal {name}"),
            Self::Workspace(repo, branch) => format!("workspace {repo} {branch}"),
        }
    }
}

impl Usage {
    /// Without a limit nothing is counted.
    pub(super) fn open(state: &Path, limits: &Limits) -> Self {
        let file = state.join(FILE);
        let is_limited = limits.max_runs_per_day_per_principal.is_some()
            || limits.max_runs_per_day_per_workspace.is_some()
            || limits_cpu(limits);
        let today = read_json(&file).unwrap_or_else(|error| {
            tracing::error!(file = %file.display(), %error, "what was used today is not known any more");
            None
        });
        Self {
            is_limited,
            file,
            today: Mutex::new(today.unwrap_or_default()),
        }
    }

    pub(super) fn of(&self, user: &User) -> Used {
        let today = self.today.lock();
        let is_current = today.date == date_of(Timestamp::now());
        let used = today.used.get(&user.key()).filter(|_| is_current);
        used.copied().unwrap_or_default()
    }

    /// Counts a run for each of them.
    pub(super) fn count_run(&self, users: &[User]) {
        self.change(|today| today.add(users, 1, Duration::ZERO));
    }

    /// Counts what each of these runs took so far, and was not counted before.
    pub(super) fn count_cpu(&self, taken: &[(RunId, [User; 2], Duration)]) {
        self.change(|today| {
            for (run, users, taken) in taken {
                let counted = today.counted.entry(*run).or_default();
                let more = taken.saturating_sub(*counted);
                *counted += more;
                today.add(users, 0, more);
            }
        });
    }

    /// Counts the rest of what a run took, which has ended.
    pub(super) fn count_end(&self, run: RunId, users: [User; 2], taken: Duration) {
        self.count_cpu(&[(run, users, taken)]);
        self.change(|today| {
            today.counted.remove(&run);
        });
    }

    fn change(&self, change: impl FnOnce(&mut Today)) {
        if !self.is_limited {
            return;
        }
        let mut today = self.today.lock();
        let date = date_of(Timestamp::now());
        if today.date != date {
            today.date = date;
            today.used.clear();
        }
        change(&mut today);
        if let Err(error) = write_json(&self.file, &*today) {
            tracing::warn!(%error, "what was used today is not written down yet");
        }
    }
}

impl Today {
    fn add(&mut self, users: &[User], runs: usize, cpu: Duration) {
        for user in users {
            let used = self.used.entry(user.key()).or_default();
            used.runs += runs;
            used.cpu += cpu;
        }
    }
}

pub(super) fn limits_cpu(limits: &Limits) -> bool {
    limits.max_cpu_per_day_per_principal.is_some() || limits.max_cpu_per_day_per_workspace.is_some()
}

fn date_of(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date()
}

/// Seconds until the next day begins.
pub(super) fn seconds_left(now: Timestamp) -> u64 {
    let next = date_of(now) + 1.day();
    let next = next.to_zoned(TimeZone::UTC).map(|next| next.timestamp());
    let left = next.map_or(0, |next| next.as_second() - now.as_second());
    u64::try_from(left).unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_ends_at_midnight_and_what_was_used_outlives_the_daemon() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        assert_eq!(seconds_left(at("2026-11-18T23:59:50Z")), 10);
        assert_eq!(seconds_left(at("2026-11-18T00:00:00Z")), 86_400);

        let dir = tempfile::tempdir().unwrap();
        let limits = Limits {
            max_runs_per_day_per_principal: Some(9),
            ..Limits::default()
        };
        let (ann, ben) = (
            User::Principal("ann".to_owned()),
            User::Principal("ben".to_owned()),
        );
        let users = [ann.clone(), User::Principal("others".to_owned())];
        let seconds = Duration::from_secs;
        let usage = Usage::open(dir.path(), &limits);
        let run = RunId::new();
        usage.count_run(&users);
        usage.count_cpu(&[(run, users.clone(), seconds(2))]);
        let usage = Usage::open(dir.path(), &limits);
        usage.count_cpu(&[(run, users.clone(), seconds(2))]);
        usage.count_run(&users);
        usage.count_end(run, users.clone(), seconds(3));
        let usage = Usage::open(dir.path(), &limits);
        assert_eq!((usage.of(&ann).runs, usage.of(&ann).cpu), (2, seconds(3)));
        // What a run took before midnight is not counted after it.
        let run = RunId::new();
        usage.count_cpu(&[(run, users.clone(), seconds(5))]);
        assert_eq!(usage.of(&ben), Used::default());
        usage.today.lock().date = Date::constant(2026, 1, 1);
        assert_eq!(usage.of(&ann), Used::default());
        usage.count_end(run, users, seconds(6));
        assert_eq!((usage.of(&ann).runs, usage.of(&ann).cpu), (0, seconds(1)));
        assert!(usage.today.lock().counted.is_empty());
    }
}
