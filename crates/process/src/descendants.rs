//! The processes that descend from one, by the parent that each names in `/proc`.
//!
//! A process whose parent has died belongs to the nearest subreaper above it. So under a supervisor
//! that is one, nothing it ever started can leave: whatever was forked twice, has a session of its own
//! and an empty environment is still among its descendants.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, pidfd_open, pidfd_send_signal, wait,
};

/// How often those are looked at that were told to end and have not yet.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// What of `/proc/<pid>/stat` tells one process from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Process {
    pid: Pid,
    parent: i32,
    pub(super) group: i32,
    ended: bool,
    stopped: bool,
    /// In ticks since the machine was started: the same number at another time is another process.
    started: u64,
}

/// All living processes below `root`, in no particular order. A snapshot: they may fork on.
pub(super) fn of(root: Pid) -> Vec<Pid> {
    below(root).into_iter().map(|process| process.pid).collect()
}

/// Kills and reaps everything below this process, which must be a child subreaper, and says whether
/// nothing is left. What the children's ends were is lost: ask before.
pub(super) fn end_all(within: Duration) -> bool {
    let by = Instant::now() + within;
    loop {
        for process in below(getpid()) {
            send(&process, Signal::KILL);
        }
        match reap(|_, _| {}) {
            Ok(false) if Instant::now() < by => thread::sleep(LOOK_AGAIN),
            alone => return alone.unwrap_or(true),
        }
    }
}

/// Buries all children that have ended, of which `each` is told, and says whether no child is left: who has no child
/// here has no descendant either.
pub(super) fn reap(mut each: impl FnMut(Pid, WaitStatus)) -> io::Result<bool> {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) => each(pid, status),
            Err(Errno::INTR) => {}
            Ok(None) => return Ok(false),
            Err(Errno::CHILD) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

pub(super) fn below(root: Pid) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in pids().filter_map(look) {
        children.entry(process.parent).or_default().push(process);
    }
    let mut found = Vec::new();
    let mut pending = vec![root.as_raw_nonzero().get()];
    while let Some(parent) = pending.pop() {
        // Removed, so that not even a listing made while numbers were reused can lead in a circle.
        for process in children.remove(&parent).unwrap_or_default() {
            pending.push(process.pid.as_raw_nonzero().get());
            if !process.ended {
                found.push(process);
            }
        }
    }
    found
}

/// When a process started, in ticks since the machine was.
pub(super) fn started(pid: Pid) -> Option<u64> {
    look(pid).map(|process| process.started)
}

/// Whether a signal, or a debugger, keeps a process from going on.
pub(super) fn is_stopped(pid: Pid) -> bool {
    look(pid).is_some_and(|process| process.stopped)
}

/// All processes of this machine.
pub(super) fn pids() -> impl Iterator<Item = Pid> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
}

fn look(pid: Pid) -> Option<Process> {
    let stat = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

fn parse(pid: Pid, stat: &str) -> Option<Process> {
    // The name in parentheses may itself have spaces and parentheses, the fields after it have none.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(Process {
        pid,
        parent,
        group,
        ended: matches!(state, "Z" | "X" | "x"),
        stopped: matches!(state, "T" | "t"),
        started,
    })
}

/// To one that has ended by itself it is as good.
pub(super) fn send(process: &Process, signal: Signal) {
    let is_it = || look(process.pid).is_some_and(|now| now.started == process.started);
    send_if(process.pid, signal, is_it);
}

/// Checks once more behind a pidfd, so that a number reused in between is never hit.
pub(super) fn send_if(pid: Pid, signal: Signal, is_it: impl FnOnce() -> bool) -> bool {
    pidfd_open(pid, PidfdFlags::empty())
        .is_ok_and(|fd| is_it() && pidfd_send_signal(&fd, signal).is_ok())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

    use rustix::process::set_child_subreaper;

    use super::*;
    use crate::test_process::assert_passes_alone;

    #[test]
    fn a_name_cannot_pass_for_the_fields_after_it() {
        let pid = Pid::from_raw(42).unwrap();
        let stat = "42 (a) S 1 (b) R 7 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 9876 1 1";
        let process = parse(pid, stat).unwrap();
        assert_eq!((process.parent, process.started), (7, 9876));
        assert!(!process.ended);
        assert!(parse(pid, "42 (a) S").is_none());
    }

    #[test]
    fn descendants_of_every_degree_are_found() {
        let mut child = Command::new("sh")
            .args(["-c", "(sleep 60; :) & echo ready; wait"])
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .unwrap();
        let root = Pid::from_child(&child);
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        // The sub-shell is there; its sleep comes when it comes.
        let by = Instant::now() + Duration::from_secs(10);
        while of(root).len() < 2 && Instant::now() < by {
            thread::yield_now();
        }
        let found = of(root).len();
        rustix::process::kill_process_group(root, Signal::KILL).unwrap();
        child.wait().unwrap();
        assert_eq!(found, 2);
        assert_eq!(of(root), []);
    }

    #[test]
    fn nothing_escapes_a_subreaper() {
        // It reaps every child of its process, so it is given one of its own.
        assert_passes_alone(module_path!(), "as_a_subreaper");
    }

    #[test]
    #[ignore = "started by nothing_escapes_a_subreaper, in a process of its own"]
    fn as_a_subreaper() {
        set_child_subreaper(Some(getpid())).unwrap();
        // Forked twice, a session and an empty environment of its own, deaf to TERM.
        let mut child = Command::new("sh")
            .args([
                "-c",
                r#"(env -i setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 9; done' &) &"#,
            ])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        child.wait().unwrap();
        let stray = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        assert!(of(getpid()).contains(&stray));
        assert!(end_all(Duration::from_secs(10)));
        assert!(look(stray).is_none(), "it was killed and reaped");
        assert_eq!(of(getpid()), []);
    }
}
