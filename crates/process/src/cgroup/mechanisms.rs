//! Which means of holding a run together this machine has. Nothing is believed that was not tried:
//! a group is made and removed in each place that looks possible.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access, getxattr};
use rustix::process::{Resource, geteuid, getrlimit};
use serde::{Deserialize, Serialize};

use super::group::Group;
use super::hierarchy::Own;

/// With fewer than this no build can be had at all.
const FEWEST: u64 = 64;

/// Found out once, when the daemon starts, and told to each supervisor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Mechanisms {
    unified: Option<Unified>,
    /// Where groups of version 1 are made, for what the unified hierarchy cannot limit here.
    pids: Option<PathBuf>,
    memory: Option<PathBuf>,
    /// How many processes and threads all runs may have together.
    all_processes: u64,
    /// Why something is missing, in the words of the system.
    obstacles: Vec<String>,
}

/// What a group of version 2 can do here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Unified {
    pub parent: PathBuf,
    /// Linux 5.14; before that its processes are killed one by one.
    pub kill: bool,
    pub pids: bool,
    pub memory: bool,
}

impl Mechanisms {
    pub(super) fn unified(&self) -> Option<&Unified> {
        self.unified.as_ref()
    }

    pub(super) fn pids(&self) -> Option<&Path> {
        self.pids.as_deref()
    }

    pub(super) fn memory(&self) -> Option<&Path> {
        self.memory.as_deref()
    }

    pub(super) fn all_processes(&self) -> u64 {
        self.all_processes
    }

    #[cfg(test)]
    pub(super) fn without_unified(self) -> Self {
        Self {
            unified: None,
            ..self
        }
    }

    #[cfg(test)]
    pub(super) fn without_groups(self) -> Self {
        Self {
            unified: None,
            pids: None,
            memory: None,
            ..self
        }
    }

    /// Where the groups of runs are made.
    pub(super) fn parents(&self) -> impl Iterator<Item = &Path> {
        let unified = self.unified.as_ref().map(|unified| &*unified.parent);
        [unified, self.pids(), self.memory()].into_iter().flatten()
    }

    /// Makes and removes a group in each place that looks possible. The daemon itself is never moved.
    pub fn probe() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let own = Own::parse(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo"));
        Self::within(&own, capacity(&own) / 2)
    }

    fn within(own: &Own, all_processes: u64) -> Self {
        let mut obstacles = Vec::new();
        let mut tried = |dir: &Option<PathBuf>, file| {
            let dir = dir.as_deref()?;
            match try_group(dir, |group| group.has(file)) {
                Ok(true) => return Some(dir.to_owned()),
                Ok(false) => obstacles.push(format!("{}: no {file}", dir.display())),
                Err(error) => obstacles.push(format!("{}: {error}", dir.display())),
            }
            None
        };
        let unified = own.unified.as_deref().and_then(|own| {
            // Groups beside the daemon's own can have controllers, groups below it cannot, for the
            // daemon is in it. That is what `DelegateSubgroup=` is for.
            let beside = own.parent().filter(|parent| is_delegated(parent));
            let mut places = beside
                .into_iter()
                .chain([own])
                .map(Path::to_owned)
                .map(Some);
            places.find_map(|place| tried(&place, "cgroup.freeze"))
        });
        let unified = unified.and_then(|parent| Unified::of(parent).ok());
        let has = |what: fn(&Unified) -> bool| unified.as_ref().is_some_and(what);
        Self {
            pids: (!has(|u| u.pids))
                .then(|| tried(&own.pids, "pids.max"))
                .flatten(),
            memory: (!has(|u| u.memory))
                .then(|| tried(&own.memory, "memory.limit_in_bytes"))
                .flatten(),
            unified,
            all_processes,
            obstacles,
        }
    }

    /// The most that one run may have: the others must be able to go on.
    pub fn most_processes(&self) -> u64 {
        self.all_processes / 2
    }

    pub(super) fn limits_processes(&self) -> bool {
        self.limiting_processes().is_some()
    }

    /// Where the groups are made that limit processes.
    pub(super) fn limiting_processes(&self) -> Option<&PathBuf> {
        let unified = self.unified.as_ref().filter(|unified| unified.pids);
        unified
            .map(|unified| &unified.parent)
            .or(self.pids.as_ref())
    }

    pub(super) fn limits_memory(&self) -> bool {
        self.memory.is_some() || self.unified.as_ref().is_some_and(|u| u.memory)
    }

    /// Which version of groups runs are put in, or why in none.
    pub fn groups(&self) -> Result<String, String> {
        match (&self.unified, self.pids.is_some() || self.memory.is_some()) {
            (Some(_), false) => Ok("version 2".to_owned()),
            (Some(_), true) => Ok("version 2, and version 1 for limits".to_owned()),
            (None, true) => Ok("version 1".to_owned()),
            (None, false) if self.obstacles.is_empty() => Err("none are mounted".to_owned()),
            (None, false) => Err(self.obstacles.join("; ")),
        }
    }

    /// One line for logs and those who ask what the daemon can do here.
    pub fn describe(&self) -> String {
        let kill = match &self.unified {
            Some(unified) if unified.kill => "cgroup v2",
            Some(_) => "cgroup v2, one by one",
            None if self.pids.is_some() || self.memory.is_some() => "cgroup v1, one by one",
            None => "by descent",
        };
        let processes = match &self.pids {
            Some(_) => "cgroup v1 pids",
            None if self.limits_processes() => "cgroup v2",
            None if geteuid().is_root() => "not limited, for root has no rlimit",
            None => "rlimit, shared by all runs",
        };
        let memory = match &self.memory {
            Some(_) => "cgroup v1 memory",
            None if self.limits_memory() => "cgroup v2",
            None => "rlimit, per process",
        };
        let mut text = format!("kill: {kill}; processes: {processes}; memory: {memory}");
        if self.unified.is_none() && self.pids.is_none() && self.memory.is_none() {
            text.insert_str(0, "no cgroups; ");
        }
        let complete = self.limits_processes() && self.limits_memory();
        if !complete && !self.obstacles.is_empty() {
            text += &format!(" ({})", self.obstacles.join("; "));
        }
        text
    }
}

impl Unified {
    /// Lets the groups within `group` limit what it limits itself. Each controller as far as it is there: refused wherever
    /// processes stand in the way, and version 1 has no such file, nor need of it.
    pub(super) fn hand_down(group: &Group) {
        for controller in ["pids", "memory", "cpu"] {
            let _ = group.write("cgroup.subtree_control", &format!("+{controller}"));
        }
    }

    fn of(parent: PathBuf) -> io::Result<Self> {
        Self::hand_down(&Group::at(&parent));
        let [kill, pids, memory] = try_group(&parent, |group| {
            ["cgroup.kill", "pids.max", "memory.max"].map(|file| group.has(file))
        })?;
        Ok(Self {
            parent,
            kill,
            pids,
            memory,
        })
    }
}

/// How many processes and threads there can be here: on the machine, in the groups that this process is in, and of its
/// user.
fn capacity(own: &Own) -> u64 {
    let number = |path: &Path| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let of_machine = ["/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max"];
    let of_machine = of_machine.iter().filter_map(|path| number(Path::new(path)));
    let groups = [&own.pids, &own.unified].into_iter().flatten();
    let groups = groups.flat_map(|group| group.ancestors());
    let of_groups = groups.filter_map(|group| number(&group.join("pids.max")));
    let of_user = getrlimit(Resource::Nproc).current;
    let of_user = of_user.filter(|_| !geteuid().is_root());
    let all = of_machine.chain(of_groups).chain(of_user);
    all.min().unwrap_or(FEWEST).max(FEWEST)
}

/// Makes a group, looks at it, and removes it.
fn try_group<T>(parent: &Path, look: impl FnOnce(&Group) -> T) -> io::Result<T> {
    // Whoever moves a process must be allowed to write where both groups meet, which is here.
    access(parent.join("cgroup.procs"), Access::WRITE_OK)?;
    let group = Group::new(parent, &format!("branchyard-probe-{}", std::process::id()));
    group.make()?;
    let seen = look(&group);
    group.remove();
    Ok(seen)
}

/// Whether systemd left this group to the service in it.
fn is_delegated(group: &Path) -> bool {
    ["user.delegate", "trusted.delegate"]
        .into_iter()
        .any(|mark| {
            let mut value = [0; 8];
            getxattr(group, mark, &mut value[..]).is_ok_and(|length| &value[..length] == b"1")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_made_is_not_counted_on_and_said() {
        // A plain directory refuses nothing, but has none of a group's files.
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("cgroup.procs"), "").unwrap();
        let here = Some(dir.path().to_owned());
        let own = Own {
            unified: here.clone(),
            pids: here,
            memory: Some("/nonexistent".into()),
        };
        let found = Mechanisms::within(&own, 100);
        assert!(!found.limits_processes() && !found.limits_memory());
        let text = found.describe();
        assert!(text.starts_with("no cgroups; kill: by descent; "), "{text}");
        assert!(
            text.contains("no pids.max") && text.contains("/nonexistent: "),
            "{text}"
        );
        let left = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(left, 1, "the groups that were tried are gone");
    }

    #[test]
    fn the_narrowest_limit_counts() {
        let dir = tempfile::tempdir().unwrap();
        let group = dir.path().join("outer/inner");
        fs::create_dir_all(&group).unwrap();
        let own = Own {
            pids: Some(group.clone()),
            ..Own::default()
        };
        let of_machine = capacity(&own);
        assert!(of_machine > 1000, "{of_machine}");
        fs::write(group.join("pids.max"), "max\n").unwrap();
        fs::write(dir.path().join("outer/pids.max"), "400\n").unwrap();
        assert_eq!(capacity(&own), 400);
        fs::write(group.join("pids.max"), "3\n").unwrap();
        assert_eq!(capacity(&own), FEWEST);
    }

    #[test]
    fn what_was_found_can_be_told_to_a_supervisor() {
        let found = Mechanisms::probe();
        let told = serde_json::to_string(&found).unwrap();
        let heard: Mechanisms = serde_json::from_str(&told).unwrap();
        assert_eq!(heard.describe(), found.describe());
    }
}
