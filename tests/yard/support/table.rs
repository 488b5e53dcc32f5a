//! A process table of a test's own, which a bomb can fill without harm.

use std::path::PathBuf;
use std::time::Duration;

use rustix::process::Signal;

use super::{Binary, PROGRAM, Yard, kill, until};

/// A control group with a limit of processes; whatever is in it ends with it.
pub struct Table(PathBuf);

impl Table {
    /// Or none, where no such group can be made.
    pub fn new(name: &str) -> Option<Self> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = groups.lines().find_map(|line| line.split_once(":pids:"));
        let own = own.map_or("/", |(_, own)| own).trim_start_matches('/');
        let name = format!("branchyard-test-{name}-{}", std::process::id());
        let dir = PathBuf::from("/sys/fs/cgroup/pids").join(own).join(name);
        if let Err(error) = std::fs::create_dir(&dir) {
            println!("skipped: no control group of version 1 with a limit of processes: {error}");
            return None;
        }
        Some(Self(dir))
    }

    pub fn read(&self, file: &str) -> String {
        let text = std::fs::read_to_string(self.0.join(file)).unwrap();
        text.trim().to_owned()
    }

    pub fn limit(&self, most: &str) {
        std::fs::write(self.0.join("pids.max"), most).unwrap();
    }

    /// Starts the daemon inside.
    pub async fn start(&self, yard: &mut Yard) -> Binary {
        use std::os::unix::fs::PermissionsExt;
        let program = yard.dir.path().join("inside");
        let group = self.0.join("cgroup.procs");
        let script = format!(
            "#!/bin/sh\necho $$ > {}\nexec {PROGRAM} \"$@\"\n",
            group.display()
        );
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        yard.start_program(program.to_str().unwrap(), &[]).await
    }

    /// Takes a daemon in that runs already, with the processes that it has by now.
    pub fn take_in(&self, daemon: &Binary) {
        let mut pids = vec![daemon.pid()];
        let mut at = 0;
        while let Some(pid) = pids.get(at) {
            let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter();
            let children = tasks
                .flatten()
                .flatten()
                .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
            let children: Vec<u32> = children
                .flat_map(|line| {
                    line.split(' ')
                        .filter_map(|pid| pid.parse().ok())
                        .collect::<Vec<_>>()
                })
                .collect();
            std::fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
            pids.extend(children);
            at += 1;
        }
    }

    /// It and the groups within, each after the one that it is in.
    fn dirs(&self) -> Vec<PathBuf> {
        let mut dirs = vec![self.0.clone()];
        let mut at = 0;
        while let Some(dir) = dirs.get(at) {
            let below = std::fs::read_dir(dir).into_iter().flatten().flatten();
            let below = below.map(|entry| entry.path()).filter(|path| path.is_dir());
            let below: Vec<_> = below.collect();
            dirs.extend(below);
            at += 1;
        }
        dirs
    }

    fn members(&self) -> Vec<i32> {
        let listed = |dir: &PathBuf| std::fs::read_to_string(dir.join("cgroup.procs"));
        let listed = self
            .dirs()
            .iter()
            .filter_map(|dir| listed(dir).ok())
            .collect::<String>();
        listed
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect()
    }

    /// The daemon left nothing inside.
    pub async fn remove(self) {
        until("nothing is left inside", || self.members().is_empty()).await;
        assert_eq!(self.dirs(), std::slice::from_ref(&self.0));
        let gone = || std::fs::remove_dir(&self.0).is_ok() || !self.0.exists();
        until("the group is gone", gone).await;
    }
}

impl Drop for Table {
    /// After a test that failed: what it started in there ends.
    fn drop(&mut self) {
        for _ in 0..200 {
            if !self.0.exists() {
                return;
            }
            self.limit("0");
            for pid in self.members() {
                kill(pid, Signal::KILL);
            }
            for dir in self.dirs().iter().rev() {
                let _ = std::fs::remove_dir(dir);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
