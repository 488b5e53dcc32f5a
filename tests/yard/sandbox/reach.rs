//! What a build can change or read through `/proc` and `/dev`: nothing of the host's files and devices, and nothing
//! of the first process inside, which is the daemon's own program and reports the build's end.

use std::collections::BTreeSet;
use std::fs::Permissions;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use reqwest::Method;
use rustix::process::geteuid;
use serde_json::json;

use super::options;
use crate::support::{Binary, Options, PROGRAM, Yard, json_of};

/// First the plain attempts on the program, then a walk that tries everything on everything. It ends with 7.
const SCRIPT: &str = "\
chmod 4777 /proc/1/exe; chmod 0 /proc/1/exe; chown 1:1 /proc/1/exe; touch -d @1 /proc/1/exe; echo x >> /proc/1/exe
cc -o reach reach.c && grep ^Cap /proc/self/status && echo x > /dev/null && head -c 2 /dev/urandom | wc -c \\
  && head -c 2 /dev/zero | cmp - /dev/zero 2>&1 | grep -c EOF
exec ./reach
";

fn yard(daemon: &str) -> Yard {
    let task = "tasks]\nreach = [\"sh\", \"hostile.sh\"]\n";
    let yard = Yard::asleep(Options {
        repo: format!("[repos.demo.{task}"),
        ..options("standard", "")
    });
    let strict = format!(
        "[repos.tight]\nurl = {:?}\nwarm = \"off\"\n[repos.tight.{task}[repos.tight.sandbox]\nprofile = \"strict\"\n",
        yard.origin.url()
    );
    let mut yard = yard;
    yard.configure(Options {
        repo: format!("[repos.demo.{task}{strict}"),
        ..options("standard", "")
    });
    yard.origin.write("reach.c", include_str!("reach.c"));
    yard.origin.write("hostile.sh", SCRIPT);
    yard.origin.commit(daemon);
    yard.origin.push("main");
    yard
}

/// The program in the yard's directory, so that no other test suffers from what is done to it.
fn copied_program(yard: &Yard) -> PathBuf {
    let program = yard.dir.path().join("program");
    std::fs::copy(PROGRAM, &program).unwrap();
    program
}

/// All about a file that a build must not change.
#[derive(Debug, PartialEq, Eq)]
struct Attributes {
    mode: u32,
    owner: (u32, u32),
    /// A terminal's changes with its use.
    modified: Option<(i64, i64)>,
    content: Vec<u8>,
    names: Vec<u8>,
}

impl Attributes {
    fn of(path: &Path) -> Self {
        let meta = std::fs::metadata(path).unwrap();
        let is_file = meta.is_file() && !path.starts_with("/proc");
        let mut names = vec![0; 4096];
        let length = rustix::fs::listxattr(path, &mut names[..]).unwrap_or(0);
        names.truncate(length);
        Self {
            mode: meta.mode(),
            owner: (meta.uid(), meta.gid()),
            modified: is_file.then(|| (meta.mtime(), meta.mtime_nsec())),
            content: match is_file {
                true => std::fs::read(path).unwrap(),
                false => Vec::new(),
            },
            names,
        }
    }
}

/// What the machine shares with every build, and the program.
fn shared(program: &Path) -> Vec<(PathBuf, Attributes)> {
    let shared = [
        "/dev/null",
        "/dev/zero",
        "/dev/full",
        "/dev/random",
        "/dev/urandom",
        "/dev/tty",
        "/proc/version",
        "/proc/meminfo",
        "/proc/uptime",
        "/proc/net/dev",
        "/proc/sys/kernel/core_pattern",
    ];
    let paths = shared.iter().map(PathBuf::from).chain([program.to_owned()]);
    paths
        .map(|path| (path.clone(), Attributes::of(&path)))
        .collect()
}

/// One attempt that was let.
struct Let<'a> {
    operation: &'a str,
    device: &'a str,
    inode: u64,
    kind: &'a str,
    path: &'a str,
}

impl<'a> Let<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.splitn(5, ' ');
        Some(Self {
            operation: words.next()?,
            device: words.next().filter(|device| device.contains(':'))?,
            inode: words.next()?.parse().ok()?,
            kind: words.next()?,
            path: words.next()?,
        })
    }

    /// Whether it leads into the first process.
    fn is_of_first(&self) -> bool {
        let below = self.path.strip_prefix("/proc/1/").unwrap_or_default();
        let below = below.strip_prefix("task/1/").unwrap_or(below);
        let (first, rest) = below.split_once('/').unwrap_or((below, ""));
        matches!(first, "exe" | "cwd" | "root")
            || matches!(first, "fd" | "fdinfo" | "ns" | "map_files") && !rest.is_empty()
    }
}

/// What of the attempts must not have been let.
fn breaches<'a>(log: &'a str, as_root: bool, worktree: &Path) -> Vec<&'a str> {
    let lets = || {
        log.lines()
            .filter_map(|line| Some((line, Let::parse(line)?)))
    };
    let of_proc = lets()
        .find(|(_, one)| one.path == "/proc/version")
        .unwrap()
        .1
        .device;
    let of_host = devices_of_host();
    let own = inodes_below(worktree);
    let is_breach = |one: &Let<'_>| {
        let is_of_host = of_host.contains(one.device) && !own.contains(&one.inode);
        let is_of_kernel = one.device == of_proc && one.path.starts_with("/proc/");
        match one.operation {
            "looked" => false,
            "inherited" | "read" => true,
            _ if one.is_of_first() => true,
            "see" => false,
            "write" => is_of_host && one.kind != "c" || is_of_kernel && as_root,
            // Of its own processes an owner may set times, which are not kept anywhere.
            "chmod" => is_of_host || is_of_kernel,
            _ => is_of_host || is_of_kernel && as_root,
        }
    };
    lets()
        .filter(|(_, one)| is_breach(one))
        .map(|(line, _)| line)
        .collect()
}

fn devices_of_host() -> BTreeSet<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let devices = mounts.lines().filter_map(|line| line.split(' ').nth(2));
    devices.map(str::to_owned).collect()
}

fn inodes_below(dir: &Path) -> BTreeSet<u64> {
    let mut inodes = BTreeSet::from([std::fs::metadata(dir).unwrap().ino()]);
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => inodes.extend(inodes_below(&entry.path())),
            false => drop(inodes.insert(entry.metadata().unwrap().ino())),
        }
    }
    inodes
}

/// Has the hostile task run in a repo, and looks at what it was let.
async fn attack(yard: &Yard, repo: &str, as_root: bool) {
    let path = format!("/stream/repos/{repo}/branches/main/task");
    let request = yard
        .request(Method::POST, &path)
        .header("prefer", "respond-async");
    let started = request
        .json(&json!({"task": "reach"}))
        .send()
        .await
        .unwrap();
    let run = json_of(started).await["run_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let record = yard.ended(&run).await;
    let log = yard.log(&run).await;
    assert_eq!(
        (&record["state"], &record["exit_code"]),
        (&json!("failed"), &json!(7)),
        "{record}\n{log}"
    );
    assert!(!log.contains("forged"), "{log}");
    let capabilities: Vec<_> = log.lines().filter(|line| line.starts_with("Cap")).collect();
    assert_eq!(capabilities.len(), 5, "{log}");
    for line in capabilities {
        let is_none = line.ends_with("\t0000000000000000");
        // What an ordinary user's processes could be given at most, they are never given.
        assert!(is_none || !as_root && line.starts_with("CapBnd"), "{line}");
    }
    assert!(log.contains("\n2\n1\n"), "devices work as they do: {log}");
    let looked = log
        .lines()
        .filter_map(Let::parse)
        .find(|one| one.operation == "looked");
    let looked = looked.unwrap().inode;
    assert!((500..60_000).contains(&looked), "it looked at {looked}");
    let worktree = yard.workspaces.join(repo).join("main");
    assert_eq!(breaches(&log, as_root, &worktree), [""; 0], "{repo}");
}

async fn nothing_is_reached(yard: &mut Yard, mut daemon: Binary, as_root: bool) {
    let program = yard.dir.path().join("program");
    let before = shared(&program);
    attack(yard, "demo", as_root).await;
    attack(yard, "tight", as_root).await;
    for ((path, before), (_, after)) in before.iter().zip(shared(&program)) {
        assert_eq!(before.mode, after.mode, "{}", path.display());
        assert!(*before == after, "{}", path.display());
    }
    daemon.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_root_daemon() {
    if !geteuid().is_root() {
        return println!("skipped: this needs root");
    }
    let mut yard = yard("root");
    let program = copied_program(&yard);
    let daemon = yard.start_program(program.to_str().unwrap(), &[]).await;
    nothing_is_reached(&mut yard, daemon, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_root_daemon_without_user_namespaces() {
    if !geteuid().is_root() {
        return println!("skipped: this needs root");
    }
    let mut yard = yard("root without user namespaces");
    let program = copied_program(&yard);
    let programs = yard.dir.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    let bwrap = programs.join("bwrap");
    // bwrap's options are in a file of which it is given the descriptor.
    std::fs::write(
        &bwrap,
        "#!/bin/sh\nif tr '\\0' '\\n' < /proc/self/fd/4 | grep -q unshare-user; then echo refused >&2; exit 1; fi\n\
         exec /usr/bin/bwrap \"$@\"\n",
    )
    .unwrap();
    std::fs::set_permissions(&bwrap, Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", programs.display(), env!("PATH"));
    let daemon = yard
        .start_program(program.to_str().unwrap(), &[("PATH", &path)])
        .await;
    let (has_namespace, why) = super::mechanism(&yard, "user_namespaces").await;
    assert!(!has_namespace, "{why}");
    nothing_is_reached(&mut yard, daemon, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_an_ordinary_daemon_that_owns_its_program() {
    let mut yard = yard("ordinary");
    copied_program(&yard);
    let daemon = yard.start_ordinary().await;
    nothing_is_reached(&mut yard, daemon, false).await;
}
