//! Processes of a test, looked at from outside.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::{PATIENCE, Yard};

/// Processes that work inside `dir`, or supervise a run there, as their command lines.
pub fn processes_in(dir: &Path) -> Vec<String> {
    pids_in(dir).into_iter().map(command_of).collect()
}

/// Ends whatever [`processes_in`] finds: for a test that failed half-way.
pub fn end_processes_in(dir: &Path) {
    for pid in pids_in(dir) {
        kill(pid, Signal::KILL);
    }
}

pub fn pids_in(dir: &Path) -> Vec<i32> {
    // A supervisor's standard input is its run's lock file.
    let leads_inside =
        |link: PathBuf| std::fs::read_link(link).is_ok_and(|target| target.starts_with(dir));
    all()
        .filter(|pid| {
            let proc = PathBuf::from(format!("/proc/{pid}"));
            leads_inside(proc.join("cwd")) || leads_inside(proc.join("fd/0"))
        })
        .collect()
}

/// Living processes that carry the id of a run in their environment or on their command line.
pub fn processes_of(run: &str) -> Vec<String> {
    all()
        .filter(|pid| {
            let environ = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            String::from_utf8_lossy(&environ).contains(&format!("BRANCHYARD_RUN_ID={run}"))
                || command_of(*pid).contains(run)
        })
        .map(command_of)
        .collect()
}

fn all() -> impl Iterator<Item = i32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn command_of(pid: i32) -> String {
    let command = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    command.replace('\0', " ")
}

/// Whether there is such a process and it is no mere zombie.
pub fn is_alive(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

pub fn kill(pid: i32, signal: Signal) {
    // It may have gone by itself.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

/// Waits for what no event tells, because it happens in a process that nobody listens to.
pub async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let by = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < by, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// A number of KiB that the kernel tells about a process.
pub fn kib(pid: u32, file: &str, field: &str) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap();
    let line = text.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

impl Yard {
    /// Where everything about a run stands.
    pub fn run_dir(&self, run: &str) -> PathBuf {
        self.workspaces.join(".branchyard/runs").join(run)
    }

    /// The process that supervises a run.
    pub fn supervisor_of(&self, run: &str) -> i32 {
        let text = std::fs::read(self.run_dir(run).join("alive")).unwrap();
        let identity: Value = serde_json::from_slice(&text).unwrap();
        i32::try_from(identity["pid"].as_i64().unwrap()).unwrap()
    }

    /// `kill -9` of a run's supervisor; returns when it is gone.
    pub async fn kill_supervisor(&self, run: &str) {
        let pid = self.supervisor_of(run);
        kill(pid, Signal::KILL);
        until("the supervisor is gone", || !is_alive(pid)).await;
    }

    /// The control groups that a run has right now.
    pub fn groups_of(run: &str) -> Vec<PathBuf> {
        let name = format!("branchyard-{run}");
        let found = std::process::Command::new("find")
            .args(["/sys/fs/cgroup", "-type", "d", "-name", &name])
            .output()
            .unwrap();
        let mut groups: Vec<PathBuf> = lines_of(&found.stdout);
        groups.sort();
        groups
    }
}

fn lines_of(text: &[u8]) -> Vec<PathBuf> {
    String::from_utf8_lossy(text)
        .lines()
        .map(PathBuf::from)
        .collect()
}
