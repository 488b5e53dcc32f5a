//! What holds a run together: limits on its processes, memory and open files, and a handle to find and
//! end all of it. Cgroups where they can be had, limits of the process where not.
//!
//! To move a process into a group costs some 25 ms (the kernel waits for a grace period) unless one was
//! moved just before, which is more than most commands take. So a run is enclosed once it has lived for
//! a while, with all its descendants, and until then is found by descent alone. What memory it took
//! before is not counted; how many processes it has is limited from the start ([`StartLimit`]).

mod group;
mod hierarchy;
mod inherit;
mod mechanisms;
mod start;

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, geteuid};
use serde::{Deserialize, Serialize};

use super::descendants;
use branchyard_model::RunId;
use group::Group;
pub(crate) use inherit::Inheritable;
pub use mechanisms::Mechanisms;
use mechanisms::Unified;
pub(super) use start::SANDBOX_PROCESSES;
pub use start::StartLimit;

/// Each round moves what was forked during the one before.
const ENCLOSING_ROUNDS: usize = 64;
/// From this round on, who is inside is held still until the others are in as well.
const FREEZE_FROM: usize = 3;
/// How long the killed are waited for and, where they can only be killed one by one, killed again.
const KILLING: Duration = Duration::from_millis(800);
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// Who still forks after so many rounds of killing is not allowed to any more.
const FORK_NO_MORE_FROM: usize = 8;

/// How often the group of all runs is made again when it was just removed.
const MAKING_ROUNDS: usize = 16;
/// Of all runs together; the daemon, and whatever else there is, has 100.
const CPU_WEIGHT: &str = "25";

/// The group that holds the groups of all runs, of every daemon that this user has here.
fn all_runs(parent: &Path) -> PathBuf {
    parent.join(format!("branchyard-runs-{}", geteuid().as_raw()))
}

/// Makes the group of all runs, whichever daemon of this user they are of, and holds it well below what the machine has,
/// and below the daemon.
fn limit_all(all: &Group, processes: u64) -> io::Result<()> {
    all.make()?;
    Unified::hand_down(all);
    if all.has("pids.max") {
        all.write("pids.max", &processes.to_string())?;
    }
    if all.has("cpu.weight") {
        all.write("cpu.weight", CPU_WEIGHT)?;
    }
    Ok(())
}

/// What one run may use; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// With no group to be had it counts all threads of the user, root's not at all.
    pub processes: Option<u64>,
    /// In bytes. With no group to be had it limits the address space of each process by itself.
    pub memory: Option<u64>,
    /// Of each process.
    pub open_files: Option<u64>,
    /// What a process has where `open_files` does not say, and may raise as far as the system lets it: the
    /// daemon allows itself more.
    pub usual_open_files: Option<u64>,
}

/// The limit that a run ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exceeded {
    Memory,
    Processes,
}

/// The groups of one run, named by its id, so that a later daemon finds them without being told. Where its supervisor has
/// a group ([`StartLimit`]) they are within that: its limit holds also while the run is moved from one to the other.
#[derive(Debug)]
pub struct Cgroup {
    mechanisms: Mechanisms,
    unified: Option<Group>,
    pids: Option<Group>,
    memory: Option<Group>,
    /// Where the supervisor is, which starts the command.
    start: Option<PathBuf>,
}

impl Cgroup {
    /// The groups of a run that `supervisor` watches over. Makes nothing yet.
    pub fn of(mechanisms: &Mechanisms, run: RunId, supervisor: Pid) -> Self {
        Self::within(mechanisms, run, |all, _| {
            Some(start::group_of(all, supervisor)).filter(|start| start.is_dir())
        })
    }

    /// The groups that a run has, or would have, whose supervisor is gone.
    pub fn find(mechanisms: &Mechanisms, run: RunId) -> Self {
        Self::within(mechanisms, run, |all, name| {
            start::all_in(all).find(|start| start.join(name).is_dir())
        })
    }

    /// `start` tells the supervisor's group among those of all runs, given also the run's name.
    fn within(
        mechanisms: &Mechanisms,
        run: RunId,
        start: impl Fn(&Path, &str) -> Option<PathBuf>,
    ) -> Self {
        let name = format!("branchyard-{run}");
        let group = |parent: &Path| {
            let all = all_runs(parent);
            Group::new(&start(&all, &name).unwrap_or(all), &name)
        };
        let limiting = mechanisms.limiting_processes();
        Self {
            start: limiting.and_then(|parent| start(&all_runs(parent), &name)),
            unified: mechanisms.unified().map(|u| group(&u.parent)),
            pids: mechanisms.pids().map(group),
            memory: mechanisms.memory().map(group),
            mechanisms: mechanisms.clone(),
        }
    }

    /// Once the run has lived a while: makes the groups, sets their limits and moves every descendant of
    /// `supervisor` in, until none is outside. The supervisor itself stays out; where it is a child
    /// subreaper, nothing can have left it. What could be done is done even if an error is returned.
    pub fn enclose(&self, supervisor: Pid, limits: &Limits) -> io::Result<()> {
        let groups = self.needed(limits);
        for group in &groups {
            self.make(group)?;
        }
        let limited = self.limit(limits);
        let enclosed = self.move_in(supervisor, &groups);
        self.freeze(false);
        limited.and(enclosed)
    }

    /// Kills everything inside and waits a moment for it to be gone. Returns how many were met.
    pub fn kill(&self) -> usize {
        let mut met: HashSet<Pid> = self.members().collect();
        let at_once = self.mechanisms.unified().is_some_and(|u| u.kill);
        if at_once && let Some(group) = &self.unified {
            let _ = group.write("cgroup.kill", "1");
        } else {
            self.freeze(true);
        }
        let by = Instant::now() + KILLING;
        let mut round = 0;
        while !self.is_empty() && Instant::now() < by {
            for group in self.groups() {
                met.extend(group.members().into_iter().filter(|pid| group.kill(*pid)));
            }
            if round == FORK_NO_MORE_FROM
                && let Some(group) = &self.pids
            {
                let _ = group.write("pids.max", "0");
            }
            round += 1;
            thread::sleep(LOOK_AGAIN);
        }
        self.freeze(false);
        met.len()
    }

    /// Whether nobody is inside, or there is no inside.
    pub fn is_empty(&self) -> bool {
        self.members().next().is_none()
    }

    /// Processor time of all that was ever inside, as far as the kernel keeps it here.
    pub(super) fn cpu_time(&self) -> Duration {
        let micros = self.unified.as_ref();
        let micros = micros.map_or(0, |group| group.count("cpu.stat", "usage_usec"));
        Duration::from_micros(micros)
    }

    /// Which limit was hit. To be asked before [`Cgroup::kill`], which may have to forbid forking. Memory
    /// is also named where the whole machine ran out of it and this run was chosen to go.
    pub fn exceeded(&self) -> Option<Exceeded> {
        let killed = |group: &Option<Group>, file| {
            let group = group.as_ref();
            group.is_some_and(|group| group.count(file, "oom_kill") > 0)
        };
        let refused = |group: &Option<Group>| {
            let group = group.as_ref();
            group.is_some_and(|group| group.count("pids.events", "max") > 0)
        };
        if killed(&self.unified, "memory.events") || killed(&self.memory, "memory.oom_control") {
            Some(Exceeded::Memory)
        } else if refused(&self.unified) || refused(&self.pids) || self.was_refused_at_start() {
            Some(Exceeded::Processes)
        } else {
            None
        }
    }

    /// Whether the limit was hit before the run was enclosed. Which group counts it depends on the version.
    fn was_refused_at_start(&self) -> bool {
        let groups = self.start.iter().flat_map(|start| start::groups_at(start));
        groups
            .into_iter()
            .any(|group| group.count("pids.events", "max") > 0)
    }

    /// Removes the groups; one that never was is no error, one that is not empty stays.
    pub fn remove(&self) {
        for group in self.groups() {
            group.remove();
        }
        for parent in self.mechanisms.parents() {
            start::remove_if_empty(&all_runs(parent));
        }
    }

    /// Makes a group of this run, within the one of all runs. That goes with its last run, which may be now.
    fn make(&self, group: &Group) -> io::Result<()> {
        for _ in 0..MAKING_ROUNDS {
            for parent in self.mechanisms.parents() {
                limit_all(
                    &Group::at(&all_runs(parent)),
                    self.mechanisms.all_processes(),
                )?;
            }
            match group.make() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                made => return made,
            }
        }
        Err(io::Error::other("the group of all runs does not stay"))
    }

    fn groups(&self) -> impl Iterator<Item = &Group> {
        [&self.unified, &self.pids, &self.memory]
            .into_iter()
            .flatten()
    }

    fn members(&self) -> impl Iterator<Item = Pid> {
        self.groups().flat_map(Group::members)
    }

    /// One group to find the run by, and those that its limits ask for: each costs every process a move.
    fn needed(&self, limits: &Limits) -> Vec<&Group> {
        let handle = self.groups().next();
        let pids = self.pids.as_ref().filter(|_| limits.processes.is_some());
        let memory = self.memory.as_ref().filter(|_| limits.memory.is_some());
        let mut needed: Vec<&Group> = Vec::new();
        for group in [handle, pids, memory].into_iter().flatten() {
            if !needed.iter().any(|other| std::ptr::eq(*other, group)) {
                needed.push(group);
            }
        }
        needed
    }

    fn limit(&self, limits: &Limits) -> io::Result<()> {
        let unified = self.mechanisms.unified().zip(self.unified.as_ref());
        if let Some(most) = limits.processes.map(|most| most.to_string()) {
            if let Some((_, group)) = unified.filter(|(can, _)| can.pids) {
                group.write("pids.max", &most)?;
            } else if let Some(group) = &self.pids {
                group.write("pids.max", &most)?;
            }
        }
        if let Some(most) = limits.memory.map(|most| most.to_string()) {
            // Swap counts as memory, or the limit would only make everything slow. Not every kernel
            // counts it.
            if let Some((_, group)) = unified.filter(|(can, _)| can.memory) {
                group.write("memory.max", &most)?;
                let _ = group.write("memory.swap.max", "0");
            } else if let Some(group) = &self.memory {
                group.write("memory.limit_in_bytes", &most)?;
                let _ = group.write("memory.memsw.limit_in_bytes", &most);
            }
        }
        Ok(())
    }

    fn move_in(&self, supervisor: Pid, groups: &[&Group]) -> io::Result<()> {
        // Who may not be moved (it runs as another user) must not keep the others out.
        let mut refused = HashSet::new();
        let mut refusal = None;
        for round in 0..ENCLOSING_ROUNDS {
            if round == FREEZE_FROM {
                self.freeze(true);
            }
            let all = descendants::of(supervisor);
            let mut moved = false;
            for (index, group) in groups.iter().enumerate() {
                let inside: HashSet<_> = group.members().into_iter().collect();
                for pid in all.iter().filter(|pid| !inside.contains(pid)) {
                    if refused.contains(&(index, *pid)) {
                        continue;
                    }
                    moved = true;
                    if let Err(error) = group.put(*pid) {
                        refused.insert((index, *pid));
                        refusal = Some(error);
                    }
                }
            }
            if !moved {
                return refusal.map_or(Ok(()), Err);
            }
        }
        Err(io::Error::other("it forks faster than it can be enclosed"))
    }

    /// Holds everyone inside still, or lets them go on; only groups of version 2 can.
    fn freeze(&self, still: bool) {
        if let Some(group) = &self.unified {
            let _ = group.write("cgroup.freeze", if still { "1" } else { "0" });
        }
    }
}

#[cfg(test)]
mod tests;
