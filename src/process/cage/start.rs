//! The group that a command is in from its first instruction on. A program that does nothing but fork has more than a
//! thousand processes within 10 ms, which is before its run could be enclosed; and then there are so many that
//! enclosing them takes a second.
//!
//! To move a process takes some 10 ms, but its children are where it is. So each supervisor is put into a group of its
//! own when it is started, which is mostly before there is a run for it. The group is removed some time after its end.
//!
//! A run that forks while it is enclosed may for that moment have as many processes in each of the two groups.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::Pid;

use super::group::Group;
use super::{MAKING_ROUNDS, Mechanisms, all_runs, limit_all};
use crate::process::sandbox;

const PREFIX: &str = "branchyard-supervisor-";
/// The supervisor, and what there is of a sandbox, are no processes of the command's.
const OWN_PROCESSES: u64 = 1 + sandbox::OWN_PROCESSES;

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
        let unified = mechanisms.unified.as_ref().filter(|unified| unified.pids);
        let parent = unified.map(|unified| &unified.parent);
        let parent = parent.or(mechanisms.pids.as_ref())?;
        Some(Self {
            all: all_runs(parent),
            all_processes: mechanisms.all_processes,
            processes: processes?.saturating_add(OWN_PROCESSES),
        })
    }

    /// Has it hold for what `supervisor` starts from now on.
    pub fn hold(&self, supervisor: Pid) -> io::Result<()> {
        self.sweep();
        let name = format!("{PREFIX}{}", supervisor.as_raw_nonzero());
        let group = Group::new(&self.all, &name);
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

    fn hold_in(&self, group: &Group, supervisor: Pid) -> io::Result<()> {
        limit_all(&Group::at(&self.all), self.all_processes)?;
        group.make()?;
        group.write("pids.max", &self.processes.to_string())?;
        group.put(supervisor)
    }

    /// Removes the groups of supervisors that have ended.
    pub fn sweep(&self) {
        for entry in fs::read_dir(&self.all).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(PREFIX) {
                // Those that are in use stay.
                let _ = fs::remove_dir(entry.path());
            }
        }
        remove_if_empty(&self.all);
    }
}

/// The group of all runs goes with the last of them.
pub(super) fn remove_if_empty(all: &Path) {
    let _ = fs::remove_dir(all);
}
