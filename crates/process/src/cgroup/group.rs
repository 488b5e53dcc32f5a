//! One cgroup of one run, as the directory that it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::descendants;

/// Processes that were killed are gone within this time, unless the kernel itself holds them.
const REMOVAL: (u32, Duration) = (50, Duration::from_millis(2));

#[derive(Debug, Clone)]
pub(super) struct Group(PathBuf);

impl Group {
    pub(super) fn new(parent: &Path, name: &str) -> Self {
        Self(parent.join(name))
    }

    /// The group that others are made in.
    pub(super) fn at(dir: &Path) -> Self {
        Self(dir.to_owned())
    }

    pub(super) fn make(&self) -> io::Result<()> {
        match fs::create_dir(&self.0) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.0.join(file).exists()
    }

    pub(super) fn write(&self, file: &str, value: &str) -> io::Result<()> {
        fs::OpenOptions::new()
            .write(true)
            .open(self.0.join(file))
            .and_then(|mut file| io::Write::write_all(&mut file, value.as_bytes()))
    }

    /// What stands in a file of the group; nothing where there is no such file.
    pub(super) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }

    /// The number after `key` in a file of such pairs.
    pub(super) fn count(&self, file: &str, key: &str) -> u64 {
        self.read(file)
            .lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(name, _)| *name == key)
            .and_then(|(_, count)| count.trim().parse().ok())
            .unwrap_or(0)
    }

    /// Moves a process in, with all its threads. One that has ended meanwhile is no error.
    pub(super) fn put(&self, pid: Pid) -> io::Result<()> {
        match self.write("cgroup.procs", &pid.as_raw_nonzero().to_string()) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error()) => {
                Ok(())
            }
            put => put,
        }
    }

    /// Everyone inside, also in groups that a run may have made below its own.
    pub(super) fn members(&self) -> Vec<Pid> {
        let mut members = Vec::new();
        for dir in self.with_subgroups() {
            let listed = fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default();
            let pids = listed.lines().filter_map(|line| line.parse().ok());
            // A process that is not to be seen from here is listed as 0.
            members.extend(pids.filter(|pid| *pid > 0).filter_map(Pid::from_raw));
        }
        members
    }

    /// Kills one that was listed, if it is still inside.
    pub(super) fn kill(&self, pid: Pid) -> bool {
        descendants::send_if(pid, Signal::KILL, || self.holds(pid))
    }

    fn holds(&self, pid: Pid) -> bool {
        let Some(name) = self.0.file_name().and_then(|name| name.to_str()) else {
            return false;
        };
        fs::read_to_string(format!("/proc/{}/cgroup", pid.as_raw_nonzero()))
            .is_ok_and(|groups| groups.split(['/', '\n']).any(|part| part == name))
    }

    pub(super) fn remove(&self) {
        let (rounds, pause) = REMOVAL;
        for _ in 0..rounds {
            // The innermost first.
            for dir in self.with_subgroups().iter().rev() {
                let _ = fs::remove_dir(dir);
            }
            if !self.0.exists() {
                return;
            }
            thread::sleep(pause);
        }
    }

    /// This group's directory and those below it, each after the one it lies in.
    fn with_subgroups(&self) -> Vec<PathBuf> {
        let mut dirs = vec![self.0.clone()];
        let mut at = 0;
        while let Some(dir) = dirs.get(at) {
            let entries = fs::read_dir(dir).into_iter().flatten().flatten();
            let below = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            let below: Vec<_> = below.map(|entry| entry.path()).collect();
            dirs.extend(below);
            at += 1;
        }
        dirs
    }
}
