//! Limits that a child inherits from the supervisor that starts it. The supervisor takes them on for
//! that moment only: it must not run out of files or memory itself.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::{
    Pid, Resource, Rlimit, geteuid, getpriority_process, getrlimit, getuid, prlimit,
    setpriority_pgrp, setrlimit,
};
use serde::{Deserialize, Serialize};

use super::{Limits, Mechanisms};

/// When memory runs out on the whole machine, a build is to go before those who watch over it.
const OOM_SCORE: i32 = 500;
const OOM_FILE: &str = "/proc/self/oom_score_adj";
/// Where there is no group for it, builds still come after the daemon and its supervisors.
const NICE: i32 = 5;
/// What a process needs beyond what it has, to start another.
const ROOM_TO_START: u64 = 16 << 20;

/// What the supervisor was before it took on its child's limits.
#[must_use = "the supervisor keeps its child's limits"]
#[derive(Debug)]
pub(crate) struct Prepared {
    limits: Vec<Taken>,
    oom_score: Option<i32>,
}

/// A limit that the supervisor has for the moment.
#[derive(Debug)]
struct Taken {
    resource: Resource,
    value: u64,
    before: Rlimit,
    /// Whether the child is to be unable to lift it.
    is_fixed: bool,
}

/// Limits of each process by itself, for what no group limits here.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Inheritable {
    open_files: Option<u64>,
    /// What a process has unless it asks for more: the daemon has all that it can get.
    usual_open_files: Option<u64>,
    address_space: Option<u64>,
    processes: Option<u64>,
}

impl Inheritable {
    /// The limits that a command is to be started with.
    pub(crate) fn of(mechanisms: &Mechanisms, limits: &Limits) -> Self {
        Self {
            open_files: limits.open_files,
            usual_open_files: limits
                .usual_open_files
                .filter(|_| limits.open_files.is_none()),
            address_space: limits.memory.filter(|_| !mechanisms.limits_memory()),
            // Root is exempt from this one.
            processes: limits
                .processes
                .filter(|_| !mechanisms.limits_processes() && !geteuid().is_root())
                .map(|more| more.saturating_add(processes_of_user())),
        }
    }

    /// Each with whether the child is to be unable to lift it.
    fn wanted(self) -> impl Iterator<Item = (Resource, u64, bool)> {
        let all = [
            (Resource::Nofile, self.open_files, true),
            (Resource::Nofile, self.usual_open_files, false),
            (Resource::As, self.address_space, true),
            (Resource::Nproc, self.processes, true),
        ];
        all.into_iter()
            .filter_map(|(resource, value, is_fixed)| Some((resource, value?, is_fixed)))
    }

    /// In a process that does nothing but start the one that is limited: takes them on for good.
    pub(crate) fn take_on(self) -> io::Result<()> {
        for (resource, value, is_fixed) in self.wanted() {
            let most = getrlimit(resource).maximum;
            let value = most.map_or(value, |most| value.min(most));
            let value = match resource {
                // It has to start another with what it has already.
                Resource::As => value.max(own_size() + ROOM_TO_START),
                _ => value,
            };
            let limit = Rlimit {
                current: Some(value),
                maximum: if is_fixed { Some(value) } else { most },
            };
            setrlimit(resource, limit)?;
        }
        Ok(())
    }

    /// What the one that takes them on needs itself, the child that it started does not.
    pub(crate) fn fix(self, child: Pid) {
        for (resource, value, is_fixed) in self.wanted() {
            if !is_fixed {
                continue;
            }
            // A child that has ended already needs no limit.
            let _ = prlimit(Some(child), resource, fixed(value));
        }
    }

    /// Before the command starts, in the supervisor: takes on the limits that a child inherits.
    pub(crate) fn prepare(self) -> io::Result<Prepared> {
        let mut prepared = Prepared {
            limits: Vec::new(),
            oom_score: raise_oom_score(),
        };
        for (resource, value, is_fixed) in self.wanted() {
            let before = getrlimit(resource);
            let value = before.maximum.map_or(value, |most| value.min(most));
            let taken = Rlimit {
                current: Some(value),
                maximum: before.maximum,
            };
            if let Err(error) = setrlimit(resource, taken) {
                prepared.restore_self(None);
                return Err(error.into());
            }
            prepared.limits.push(Taken {
                resource,
                value,
                before,
                is_fixed,
            });
        }
        Ok(prepared)
    }
}

fn fixed(value: u64) -> Rlimit {
    Rlimit {
        current: Some(value),
        maximum: Some(value),
    }
}

impl Prepared {
    /// Call it once the child was started, or could not be: the supervisor is as it was, and the child
    /// can no longer lift its limits.
    pub(crate) fn restore_self(self, child: Option<Pid>) {
        for taken in self.limits {
            // A child that has ended already needs no limit; our own was ours before.
            if let Some(child) = child.filter(|_| taken.is_fixed) {
                let _ = prlimit(Some(child), taken.resource, fixed(taken.value));
            }
            let _ = setrlimit(taken.resource, taken.before);
        }
        if let Some(child) = child {
            // The child is the leader of a process group, and may have forked already.
            let own = getpriority_process(None).unwrap_or(0);
            let _ = setpriority_pgrp(Some(child), own + NICE);
        }
        if let Some(score) = self.oom_score {
            let _ = fs::write(OOM_FILE, score.to_string());
        }
    }
}

/// What it was before, if it is higher now.
fn raise_oom_score() -> Option<i32> {
    let before = fs::read_to_string(OOM_FILE).ok()?.trim().parse().ok()?;
    (before < OOM_SCORE && fs::write(OOM_FILE, OOM_SCORE.to_string()).is_ok()).then_some(before)
}

/// The limit counts all threads of the user, whichever run or login they belong to; so what is there
/// already comes on top.
fn processes_of_user() -> u64 {
    let uid = getuid().as_raw();
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| fs::metadata(entry.ok()?.path().join("task")).ok())
        .filter(|tasks| tasks.uid() == uid)
        // A directory has two links more than it has directories in it: here, one per thread.
        .map(|tasks| tasks.nlink().saturating_sub(2))
        .sum()
}

/// The address space of this process, in bytes.
fn own_size() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let size = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib = size.and_then(|size| size.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
