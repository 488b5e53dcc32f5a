//! The group that a command is in from its first instruction on. A program that does nothing but fork has more than a
//! thousand processes within 10 ms, which is before its run could be enclosed; and then there are so many that
//! enclosing them takes a second.
//!
//! To move a process takes some 10 ms, but its children are where it is. So each supervisor is put into a group of its
//! own when it is started, which is mostly before there is a run for it. The run's own groups are made within that one
//! later, so that together they never have more than it allows. It is removed some time after the supervisor's end.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::group::Group;
use super::{MAKING_ROUNDS, Mechanisms, Unified, all_runs, limit_all};

const PREFIX: &str = "branchyard-supervisor-";
/// Within it, where the supervisor itself is: in version 2 only a group without processes can limit those within.
const OWN: &str = "supervisor";
/// The supervisor, and what there is of a sandbox, are no processes of the command's.
const OWN_PROCESSES: u64 = 1 + SANDBOX_PROCESSES;
/// bwrap and its init.
pub(crate) const SANDBOX_PROCESSES: u64 = 2;

/// How many processes a supervisor's children may be, where a group can limit that.
#[derive(Debug, Clone)]
pub struct StartLimit {
    all: PathBuf,
    all_processes: u64,
    processes: u64,
}

impl StartLimit {
    /// None where no group limits processes here.
    pub fn of(mechanisms: &Mechanisms, processes: Option<u64>) -> Option<Self> {
        Some(Self {
            all: all_runs(mechanisms.limiting_processes()?),
            all_processes: mechanisms.all_processes(),
            processes: processes?.saturating_add(OWN_PROCESSES),
        })
    }

    /// Has it hold for what `supervisor` starts from now on.
    pub fn hold(&self, supervisor: Pid) -> io::Result<()> {
        self.sweep();
        let group = group_of(&self.all, supervisor);
        let mut held = Ok(());
        for _ in 0..MAKING_ROUNDS {
            held = self.hold_in(&group, supervisor);
            match &held {
                // Removed by another daemon, before anything was in it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                _ => break,
            }
        }
        held
    }

    fn hold_in(&self, dir: &Path, supervisor: Pid) -> io::Result<()> {
        limit_all(&Group::at(&self.all), self.all_processes)?;
        let group = Group::at(dir);
        group.make()?;
        group.write("pids.max", &self.processes.to_string())?;
        Unified::hand_down(&group);
        let own = Group::new(dir, OWN);
        own.make()?;
        own.put(supervisor)
    }

    /// Removes the groups of supervisors that have ended.
    pub fn sweep(&self) {
        for group in all_in(&self.all) {
            // Those that are in use stay.
            let _ = fs::remove_dir(group.join(OWN));
            let _ = fs::remove_dir(group);
        }
        remove_if_empty(&self.all);
    }
}

/// A supervisor's group, among those of all runs.
pub(super) fn group_of(all: &Path, supervisor: Pid) -> PathBuf {
    all.join(format!("{PREFIX}{}", supervisor.as_raw_nonzero()))
}

/// A supervisor's group, and the one within that it is in.
pub(super) fn groups_at(start: &Path) -> [Group; 2] {
    [Group::at(start), Group::new(start, OWN)]
}

/// The groups of all supervisors.
pub(super) fn all_in(all: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(all).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    ours.map(|entry| entry.path())
}

/// The group of all runs goes with the last of them.
pub(super) fn remove_if_empty(all: &Path) {
    let _ = fs::remove_dir(all);
}
