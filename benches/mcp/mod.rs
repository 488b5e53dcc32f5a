//! Read tools beside plain git and the two public git MCP servers: same repository, same run, and of the
//! servers the same client. The yard is
//! asked over stdio as they are, through `branchyard mcp`; its memory is that of daemon and proxy together.

mod client;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::support::{PROGRAM, Yard, kib};
use super::{ROUNDS, median, quiet, timed, write_files};
use client::Client;

/// As many as a large project has.
const FILES: usize = 50_000;
const CALLS: usize = 100;
const AT_ONCE: usize = 16;

/// A server and its words for status, log and diff.
struct Server {
    name: &'static str,
    command: Box<dyn Fn() -> Command>,
    calls: [(&'static str, Value); 3],
    /// Whose memory counts besides its own.
    daemon: Option<u32>,
}

const WORK: [&str; 3] = ["status", "log -20", "diff"];
const PLAIN: [&[&str]; 3] = [&["status", "--porcelain=v2"], &["log", "-20"], &["diff"]];

pub async fn mcp() {
    let peers = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("peers");
    if !peers.join("stamp").is_file() {
        println!("mcp: the public servers are not installed; `make bench` installs them");
        return;
    }
    let mut yard = Yard::asleep(super::support::Options::default());
    write_files(&yard, FILES);
    let mut daemon = yard.start_binary(&[]).await;
    yard.make("main", &["who"]).await;
    let workspace = yard.workspace("main");
    std::fs::write(workspace.join("name.txt"), "changed\n").unwrap();
    let head = yard.origin.head();
    let servers = [
        ours(&yard, daemon.pid()),
        python(&peers, &workspace),
        node(&peers, &workspace),
    ];
    println!(
        "\n{:<44} {:>12} {:>12} {:>12} {:>12}",
        format!("MCP over stdio, {FILES} files"),
        servers[0].name,
        servers[1].name,
        servers[2].name,
        "plain git"
    );
    tokio::task::block_in_place(|| compare(&servers, &workspace, &head));
    daemon.stop().await;
}

fn compare(servers: &[Server; 3], workspace: &Path, head: &str) {
    let mut starts = [const { Vec::new() }; 3];
    for _ in 0..ROUNDS.min(5) {
        for (server, times) in servers.iter().zip(&mut starts) {
            let began = Instant::now();
            let mut client = Client::start((server.command)());
            let tools = client.ask("tools/list", json!({}));
            times.push(began.elapsed());
            assert!(!tools["tools"].as_array().unwrap().is_empty());
        }
    }
    row(
        "start until tools are listed",
        starts.map(|mut times| median(&mut times)),
        None,
    );
    let mut clients = servers
        .each_ref()
        .map(|server| Client::start((server.command)()));
    for (index, work) in WORK.iter().enumerate() {
        let (mut times, mut plain) = ([const { Vec::new() }; 3], Vec::new());
        for _ in 0..ROUNDS {
            plain.push(timed(|| quiet(workspace, "git", PLAIN[index])));
            for ((server, client), times) in servers.iter().zip(&mut clients).zip(&mut times) {
                let began = Instant::now();
                let said = client.call(&server.calls[index]);
                times.push(began.elapsed());
                check(server.name, index, &said, head);
            }
        }
        let plain = median(&mut plain);
        row(work, times.map(|mut times| median(&mut times)), Some(plain));
        let mut rates = [0; 3];
        for ((server, client), rate) in servers.iter().zip(&mut clients).zip(&mut rates) {
            let began = Instant::now();
            client.calls(&server.calls[index], CALLS, AT_ONCE);
            *rate = per_second(began.elapsed());
        }
        println!(
            "{:<44} {:>12} {:>12} {:>12}",
            format!("{work}, calls/s, {AT_ONCE} at once"),
            rates[0],
            rates[1],
            rates[2]
        );
    }
    let memory = std::array::from_fn::<_, 3, _>(|index| {
        let own = kib(clients[index].pid(), "status", "VmRSS");
        let daemon = servers[index]
            .daemon
            .map_or(0, |pid| kib(pid, "status", "VmRSS"));
        (own + daemon) / 1024
    });
    println!(
        "{:<44} {:>12} {:>12} {:>12}",
        "memory after, MiB", memory[0], memory[1], memory[2]
    );
}

/// All three must have looked at the same thing.
fn check(name: &str, index: usize, said: &str, head: &str) {
    let expected = match index {
        0 => "name.txt",
        1 => &head[..7],
        _ => "+changed",
    };
    assert!(
        said.contains(expected),
        "{name} says of {}: {said}",
        WORK[index]
    );
}

fn row(name: &str, times: [Duration; 3], plain: Option<Duration>) {
    let shown = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1000.0);
    let git = plain.map(shown).unwrap_or_default();
    let shown = times.map(shown);
    let better = times[1].min(times[2]);
    let ratio = times[0].as_secs_f64() / better.as_secs_f64();
    println!(
        "{name:<44} {:>12} {:>12} {:>12} {git:>12}   {ratio:.2}× of the better server",
        shown[0], shown[1], shown[2]
    );
}

fn per_second(time: Duration) -> u64 {
    let rate = CALLS as f64 / time.as_secs_f64();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a small positive number"
    )]
    let rate = rate as u64;
    rate
}

fn ours(yard: &Yard, daemon: u32) -> Server {
    let url = yard.url.clone();
    let key = yard.workspaces.join(".branchyard/auth.header");
    Server {
        name: "branchyard",
        command: Box::new(move || {
            let mut command = Command::new(PROGRAM);
            command.args([
                "mcp",
                "--repo",
                "demo",
                "--branch",
                "main",
                "--toolsets",
                "git_read",
                "--url",
                &url,
                "--key-file",
            ]);
            command.arg(&key);
            command
        }),
        calls: [
            ("git_status", json!({})),
            ("git_log", json!({ "count": 20 })),
            ("git_diff", json!({})),
        ],
        daemon: Some(daemon),
    }
}

fn python(peers: &Path, workspace: &Path) -> Server {
    let program = peers.join("venv/bin/mcp-server-git");
    let path = workspace.to_owned();
    let place = |more: Value| {
        let mut place = json!({ "repo_path": path });
        place
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        place
    };
    Server {
        name: "PyPI",
        calls: [
            ("git_status", place(json!({}))),
            ("git_log", place(json!({ "max_count": 20 }))),
            ("git_diff_unstaged", place(json!({}))),
        ],
        command: Box::new({
            let path: PathBuf = path.clone();
            move || {
                let mut command = Command::new(&program);
                command.arg("--repository").arg(&path);
                command
            }
        }),
        daemon: None,
    }
}

fn node(peers: &Path, workspace: &Path) -> Server {
    let (program, script) = (
        peers.join("node"),
        peers.join("node_modules/@cyanheads/git-mcp-server/dist/index.js"),
    );
    Server {
        name: "npm",
        calls: [
            ("git_status", json!({ "path": workspace })),
            ("git_log", json!({ "path": workspace, "maxCount": 20 })),
            ("git_diff", json!({ "path": workspace })),
        ],
        command: Box::new(move || {
            let mut command = Command::new(&program);
            command.arg(&script).envs([
                ("MCP_TRANSPORT_TYPE", "stdio"),
                ("NODE_ENV", "production"),
                ("MCP_LOG_LEVEL", "error"),
            ]);
            command
        }),
        daemon: None,
    }
}
