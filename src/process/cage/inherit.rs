//! Limits that a child inherits from the supervisor that starts it. The supervisor takes them on for
//! that moment only: it must not run out of files or memory itself.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;

use rustix::process::{Pid, Resource, Rlimit, geteuid, getrlimit, getuid, prlimit, setrlimit};

use super::{Limits, Mechanisms};

/// When memory runs out on the whole machine, a build is to go before those who watch over it.
const OOM_SCORE: i32 = 500;
const OOM_FILE: &str = "/proc/self/oom_score_adj";

/// What the supervisor was before it took on its child's limits.
#[must_use = "the supervisor keeps its child's limits"]
#[derive(Debug)]
pub struct Prepared {
    limits: Vec<(Resource, u64, Rlimit)>,
    oom_score: Option<i32>,
}

pub(super) fn prepare(mechanisms: &Mechanisms, limits: &Limits) -> io::Result<Prepared> {
    let memory = limits.memory.filter(|_| !mechanisms.limits_memory());
    // Root is exempt from this one.
    let processes = limits
        .processes
        .filter(|_| !mechanisms.limits_processes() && !geteuid().is_root())
        .map(|more| more.saturating_add(processes_of_user()));
    let wanted = [
        (Resource::Nofile, limits.open_files),
        (Resource::As, memory),
        (Resource::Nproc, processes),
    ];
    let mut prepared = Prepared {
        limits: Vec::new(),
        oom_score: raise_oom_score(),
    };
    for (resource, value) in wanted {
        let Some(value) = value else { continue };
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
        prepared.limits.push((resource, value, before));
    }
    Ok(prepared)
}

impl Prepared {
    /// Call it once the child was started, or could not be: the supervisor is as it was, and the child
    /// can no longer lift its limits.
    pub fn restore_self(self, child: Option<Pid>) {
        for (resource, value, before) in self.limits {
            let fixed = Rlimit {
                current: Some(value),
                maximum: Some(value),
            };
            // A child that has ended already needs no limit; our own was ours before.
            if let Some(child) = child {
                let _ = prlimit(Some(child), resource, fixed);
            }
            let _ = setrlimit(resource, before);
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
