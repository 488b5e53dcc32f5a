//! A process table of a test's own, which a bomb can fill without harm.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{XattrFlags, setxattr};
use rustix::process::Signal;

use super::{Binary, PROGRAM, Yard, kill, until};

/// A control group with a limit of processes; whatever is in it ends with it.
pub struct Table {
    dir: PathBuf,
    /// Where the daemon is: in version 2, beside the groups that it makes.
    daemon: PathBuf,
}

impl Table {
    /// Or none, where no such group can be made.
    pub fn new(name: &str) -> Option<Self> {
        let name = format!("branchyard-test-{name}-{}", std::process::id());
        match Self::of_version_1(&name).or_else(|_| Self::of_version_2(&name)) {
            Ok(table) => Some(table),
            Err(error) => {
                println!("skipped: no control group with a limit of processes: {error}");
                None
            }
        }
    }

    fn of_version_1(name: &str) -> io::Result<Self> {
        let dir = Path::new("/sys/fs/cgroup/pids")
            .join(own(":pids:"))
            .join(name);
        fs::create_dir(&dir)?;
        let daemon = dir.clone();
        Ok(Self { dir, daemon })
    }

    /// As systemd leaves a group to a service that has `Delegate=` and `DelegateSubgroup=`.
    fn of_version_2(name: &str) -> io::Result<Self> {
        let places = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map(Path::new);
        let is_one = |place: &&Path| place.join("cgroup.controllers").exists();
        let place = places.into_iter().find(is_one);
        let parent = place.ok_or(io::ErrorKind::NotFound)?.join(own("0::"));
        fs::write(parent.join("cgroup.subtree_control"), "+pids")?;
        let dir = parent.join(name);
        let daemon = dir.join("daemon");
        fs::create_dir_all(&daemon)?;
        setxattr(&dir, "trusted.delegate", b"1", XattrFlags::empty())?;
        Ok(Self { dir, daemon })
    }

    pub fn read(&self, file: &str) -> String {
        let text = fs::read_to_string(self.dir.join(file)).unwrap();
        text.trim().to_owned()
    }

    pub fn limit(&self, most: &str) {
        fs::write(self.dir.join("pids.max"), most).unwrap();
    }

    /// Starts the daemon inside.
    pub async fn start(&self, yard: &mut Yard) -> Binary {
        use std::os::unix::fs::PermissionsExt;
        let program = yard.dir.path().join("inside");
        let group = self.daemon.join("cgroup.procs");
        let script = format!(
            "#!/bin/sh\necho $$ > {}\nexec {PROGRAM} \"$@\"\n",
            group.display()
        );
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        yard.start_program(program.to_str().unwrap(), &[]).await
    }

    /// Takes a daemon in that runs already, with the processes that it has by now.
    pub fn take_in(&self, daemon: &Binary) {
        let mut pids = vec![daemon.pid()];
        let mut at = 0;
        while let Some(pid) = pids.get(at) {
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter();
            let children = tasks
                .flatten()
                .flatten()
                .filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
            let children: Vec<u32> = children
                .flat_map(|line| {
                    line.split(' ')
                        .filter_map(|pid| pid.parse().ok())
                        .collect::<Vec<_>>()
                })
                .collect();
            fs::write(self.daemon.join("cgroup.procs"), pid.to_string()).unwrap();
            pids.extend(children);
            at += 1;
        }
    }

    /// The group inside that limits the processes of a run, while there is one.
    pub fn group_of(&self, run: &str) -> Option<PathBuf> {
        let name = format!("branchyard-{run}");
        let is_its = |dir: &PathBuf| dir.ends_with(&name) && dir.join("pids.max").exists();
        self.dirs().into_iter().find(is_its)
    }

    /// It and the groups within, each after the one that it is in.
    fn dirs(&self) -> Vec<PathBuf> {
        let mut dirs = vec![self.dir.clone()];
        let mut at = 0;
        while let Some(dir) = dirs.get(at) {
            let below = fs::read_dir(dir).into_iter().flatten().flatten();
            let below = below.map(|entry| entry.path()).filter(|path| path.is_dir());
            let below: Vec<_> = below.collect();
            dirs.extend(below);
            at += 1;
        }
        dirs
    }

    fn members(&self) -> Vec<i32> {
        let listed = |dir: &PathBuf| fs::read_to_string(dir.join("cgroup.procs"));
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
        let mut left = self.dirs();
        left.retain(|dir| *dir != self.dir && *dir != self.daemon);
        assert_eq!(left, Vec::<PathBuf>::new());
        let gone = || {
            let _ = fs::remove_dir(&self.daemon);
            fs::remove_dir(&self.dir).is_ok() || !self.dir.exists()
        };
        until("the group is gone", gone).await;
    }
}

impl Drop for Table {
    /// After a test that failed: what it started in there ends.
    fn drop(&mut self) {
        for _ in 0..200 {
            if !self.dir.exists() {
                return;
            }
            self.limit("0");
            for pid in self.members() {
                kill(pid, Signal::KILL);
            }
            for dir in self.dirs().iter().rev() {
                let _ = fs::remove_dir(dir);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The group of this process in the hierarchy that is marked so.
fn own(mark: &str) -> String {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = groups.lines().find_map(|line| line.split_once(mark));
    let own = own.map_or("/", |(_, own)| own);
    own.trim_start_matches('/').to_owned()
}
