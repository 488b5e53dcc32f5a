use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::*;
use crate::test_process::assert_passes_alone;

/// A shell in the supervisor's place, which stays outside, and a command below it that waits for a
/// line before it begins. Whatever happens, nothing of it is left.
struct Caged {
    cgroup: Cgroup,
    shell: Child,
    output: BufReader<ChildStdout>,
}

impl Caged {
    fn start(mechanisms: &Mechanisms, limits: &Limits, script: &str) -> Self {
        let cgroup = Cgroup::find(mechanisms, RunId::new());
        let mut shell = Command::new("sh")
            .args(["-c", r#"sh -c "read go; $0"; echo "ended $?""#, script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(shell.stdout.take().unwrap());
        let mut caged = Self {
            cgroup,
            shell,
            output,
        };
        let supervisor = Pid::from_child(&caged.shell);
        while descendants::of(supervisor).is_empty() {
            thread::yield_now();
        }
        caged.cgroup.enclose(supervisor, limits).unwrap();
        assert_eq!(caged.cgroup.members().collect::<HashSet<_>>().len(), 1);
        // A test of a limit that is not there must not begin.
        if let Some(most) = limits.processes {
            assert_eq!(caged.limiting().read("pids.max"), format!("{most}\n"));
        }
        caged
            .shell
            .stdin
            .take()
            .unwrap()
            .write_all(b"go\n")
            .unwrap();
        caged
    }

    /// The group that limits processes.
    fn limiting(&self) -> &Group {
        let Cgroup { pids, unified, .. } = &self.cgroup;
        pids.as_ref().or(unified.as_ref()).unwrap()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn until(what: &str, holds: impl Fn() -> bool) {
        let by = Instant::now() + Duration::from_secs(10);
        while !holds() {
            assert!(Instant::now() < by, "{what}");
            thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Drop for Caged {
    fn drop(&mut self) {
        self.cgroup.kill();
        let _ = self.shell.kill();
        let _ = self.shell.wait();
        self.cgroup.remove();
    }
}

/// The mechanisms here; None, and why, where they cannot do what a test is about.
fn mechanisms(can: fn(&Mechanisms) -> bool) -> Option<Mechanisms> {
    let found = Mechanisms::probe();
    if !can(&found) {
        println!("skipped: {}", found.describe());
        return None;
    }
    Some(found)
}

fn has_groups(mechanisms: &Mechanisms) -> bool {
    mechanisms.unified().is_some() || mechanisms.limits_processes()
}

/// The same machine without what is killed at once.
fn one_by_one(mechanisms: Mechanisms) -> Mechanisms {
    mechanisms.without_unified()
}

fn forks_until_capped_and_goes_whole(mechanisms: &Mechanisms) {
    let limits = Limits {
        processes: Some(20),
        ..Limits::default()
    };
    // A shell that cannot fork dies, and so makes room for the others, who go on for as long as this
    // process lives.
    let alive = format!("[ -e /proc/{} ]", std::process::id());
    let script = format!("b() {{ b & b & while {alive}; do (:); done; }}; b");
    let caged = Caged::start(mechanisms, &limits, &script);
    let cgroup = &caged.cgroup;
    Caged::until("the limit is hit", || {
        cgroup.exceeded() == Some(Exceeded::Processes)
    });
    // In one group: between two looks they are not the same any more.
    let met = caged.limiting().members();
    assert!((1..=20).contains(&met.len()), "{met:?}");
    assert!(cgroup.kill() > 0);
    assert!(cgroup.is_empty());
    for pid in met {
        let alive = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()))
            .is_ok_and(|stat| !stat.contains(") Z"));
        assert!(!alive, "{pid:?} lives on");
    }
}

#[test]
fn a_fork_loop_is_capped_and_killed_whole() {
    if let Some(found) = mechanisms(Mechanisms::limits_processes) {
        forks_until_capped_and_goes_whole(&found);
    }
}

#[test]
fn a_fork_loop_is_killed_whole_without_a_kill_file() {
    if let Some(found) = mechanisms(|found| found.pids().is_some()) {
        forks_until_capped_and_goes_whole(&one_by_one(found));
    }
}

#[test]
fn who_eats_memory_is_ended_by_the_limit() {
    let Some(found) = mechanisms(Mechanisms::limits_memory) else {
        return;
    };
    let limits = Limits {
        memory: Some(32 << 20),
        ..Limits::default()
    };
    // A line without an end, held in memory; bounded, should the limit fail.
    let script = "head -c 400000000 /dev/zero | tr '\\0' x | sed s/x/y/ >/dev/null";
    let mut caged = Caged::start(&found, &limits, script);
    assert_eq!(caged.line(), "ended 137");
    assert_eq!(caged.cgroup.exceeded(), Some(Exceeded::Memory));
}

#[test]
fn who_hides_is_found_and_killed() {
    let Some(found) = mechanisms(has_groups) else {
        return;
    };
    // Forked twice, a session of its own, nothing in its environment, deaf to TERM.
    let script =
        r#"(env -i setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 300; done' &) &"#;
    let mut caged = Caged::start(&found, &Limits::default(), script);
    // The command that started it ends at once, and may say so first.
    let mut said = caged.line();
    if said.starts_with("ended") {
        said = caged.line();
    }
    let stray = Pid::from_raw(said.parse().unwrap()).unwrap();
    assert!(caged.cgroup.members().any(|pid| pid == stray));
    assert!(!caged.cgroup.is_empty());
    assert_eq!(caged.cgroup.exceeded(), None);
    assert!(caged.cgroup.kill() >= 1);
    assert!(caged.cgroup.is_empty());
    caged.cgroup.remove();
    assert!(
        caged
            .cgroup
            .groups()
            .all(|group| !group.has("cgroup.procs"))
    );
}

#[test]
fn whoever_forks_while_it_is_enclosed_is_inside_in_the_end() {
    let Some(found) = mechanisms(Mechanisms::limits_processes) else {
        return;
    };
    let limits = Limits {
        processes: Some(64),
        ..Limits::default()
    };
    // Each lives for a moment and is followed by the next; at most two at a time.
    let mut shell = Command::new("sh")
        .args(["-c", "sh -c 'while :; do sleep 0.001; done'; :"])
        .spawn()
        .unwrap();
    let supervisor = Pid::from_child(&shell);
    while descendants::of(supervisor).is_empty() {
        thread::yield_now();
    }
    let cgroup = Cgroup::find(&found, RunId::new());
    let enclosed = cgroup.enclose(supervisor, &limits);
    let outside: Vec<_> = descendants::of(supervisor)
        .into_iter()
        .filter(|pid| {
            fs::read_to_string(format!("/proc/{}/cgroup", pid.as_raw_nonzero()))
                .is_ok_and(|groups| !groups.is_empty() && !groups.contains("/branchyard-"))
        })
        .collect();
    cgroup.kill();
    shell.kill().unwrap();
    shell.wait().unwrap();
    cgroup.remove();
    enclosed.unwrap();
    assert_eq!(outside, []);
}

#[test]
fn a_control_group_that_never_was_is_empty_and_removed() {
    let cgroup = Cgroup::find(&Mechanisms::probe(), RunId::new());
    assert!(cgroup.is_empty());
    assert_eq!((cgroup.kill(), cgroup.exceeded()), (0, None));
    cgroup.remove();
}

#[test]
fn a_child_inherits_limits_that_the_supervisor_does_not_keep() {
    // Limits are the whole process's, so it is done in one of its own.
    assert_passes_alone(module_path!(), "as_a_supervisor");
}

#[test]
#[ignore = "started by a_child_inherits_limits_that_the_supervisor_does_not_keep"]
fn as_a_supervisor() {
    let of_self = || {
        let limits = fs::read_to_string("/proc/self/limits").unwrap();
        (
            limits,
            fs::read_to_string("/proc/self/oom_score_adj").unwrap(),
        )
    };
    let before = of_self();
    let limits = Limits {
        open_files: Some(99),
        memory: Some(1 << 30),
        ..Limits::default()
    };
    let nothing = Mechanisms::probe().without_groups();
    let prepared = Inheritable::of(&nothing, &limits).prepare().unwrap();
    let mut child = Command::new("sh")
        .args([
            "-c",
            "read go; ulimit -n; ulimit -Hn; ulimit -Hv; cat /proc/self/oom_score_adj",
        ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    prepared.restore_self(Some(Pid::from_child(&child)));
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let said = child.wait_with_output().unwrap().stdout;
    assert_eq!(String::from_utf8_lossy(&said), "99\n99\n1048576\n500\n");
    assert_eq!(of_self(), before);

    // What is merely usual can be lifted again.
    let usual = Limits {
        usual_open_files: Some(98),
        ..Limits::default()
    };
    let prepared = Inheritable::of(&nothing, &usual).prepare().unwrap();
    let mut child = Command::new("sh")
        .args(["-c", "read go; ulimit -n; ulimit -Sn 99; ulimit -n"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    prepared.restore_self(Some(Pid::from_child(&child)));
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let said = child.wait_with_output().unwrap().stdout;
    assert_eq!(String::from_utf8_lossy(&said), "98\n99\n");
    assert_eq!(of_self(), before);
}
