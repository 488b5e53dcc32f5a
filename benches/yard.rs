//! `make bench`: what the yard costs beside the plain tool, as ratios measured side by side in one
//! run. `make bench BENCH=reads` runs one group. Results are checked before a time counts.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run has failed")]

#[path = "../tests/yard/support/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the benchmark needs a part of what the tests need"
)]
mod support;

mod mcp;

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use support::{Yard, git};
use tokio_stream::StreamExt;

const ROUNDS: usize = 15;
const FILES: usize = 1000;

#[tokio::main]
async fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    let wants = |group: &str| wanted.is_empty() || wanted.iter().any(|name| name == group);
    println!("{:<44} {:>12} {:>12} {:>8}", "", "plain", "yard", "ratio");
    if wants("runs") {
        runs().await;
    }
    if wants("streaming") {
        streaming().await;
    }
    if wants("workspaces") {
        workspaces().await;
    }
    if wants("reads") {
        reads().await;
    }
    if wants("salvage") {
        salvage().await;
    }
    if wants("listing") {
        listing().await;
    }
    if wants("mcp") {
        mcp::mcp().await;
    }
}

/// A yard whose upstream has `FILES` files on `main`.
async fn yard_with_files() -> Yard {
    let yard = Yard::new().await;
    write_files(&yard, FILES);
    assert_eq!(
        yard.make("main", &["who"]).await.last().unwrap().data["state"],
        "succeeded"
    );
    yard
}

fn write_files(yard: &Yard, files: usize) {
    yard.origin.at("main");
    for n in 0..files {
        let text = format!("int f{n}(void) {{ return {n}; }}\n").repeat(40);
        yard.origin.write(&format!("src/d{}/f{n}.c", n / 35), text);
    }
    yard.origin.commit("files");
    yard.origin.push("main");
    yard.origin.git(&["branch", "-q", "-f", "main"]);
}

async fn runs() {
    let mut yard = yard_with_files().await;
    let workspace = yard.workspace("main");
    let (mut plain, mut synced, mut offline) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(timed(|| quiet(&workspace, "make", &["who"])));
        let started = Instant::now();
        let events = yard
            .run("make", "main", json!({"args": ["who"], "sync": "none"}))
            .await;
        offline.push(started.elapsed());
        assert_eq!(events.last().unwrap().data["exit_code"], 0);
        let started = Instant::now();
        yard.make("main", &["who"]).await;
        synced.push(started.elapsed());
    }
    row("no-op make, sync none", &mut plain, &mut offline);
    let mut by_hand = Vec::new();
    for _ in 0..ROUNDS {
        by_hand.push(timed(|| {
            quiet(&workspace, "git", &["fetch", "-q", "origin", "main"]);
            quiet(&workspace, "git", &["reset", "-q", "--hard", "origin/main"]);
            quiet(&workspace, "make", &["who"]);
        }));
    }
    row(
        "no-op make, up to date / fetch, reset, make",
        &mut by_hand,
        &mut synced,
    );
    yard.stop().await;
}

/// What a viewer waits for: the first byte of a command, and all bytes of a chatty one.
async fn streaming() {
    let mut yard = Yard::new().await;
    yard.origin.at("main");
    yard.origin.write(
        "Makefile",
        "first:\n\t@echo first\nflood:\n\t@seq 1 5000000\n",
    );
    yard.origin.commit("print");
    yard.origin.push("main");
    yard.make("main", &["first"]).await;
    let workspace = yard.workspace("main");
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(timed(|| {
            let mut make = make_in(&workspace, "first");
            let read = make.stdout.as_mut().unwrap().read(&mut [0; 64]);
            assert!(read.unwrap() > 0);
            make.wait().unwrap();
        }));
        let started = Instant::now();
        let body = json!({"args": ["first"], "sync": "none"});
        let mut run = yard.start_run("make", "main", body).await;
        run.until_line("first").await;
        ours.push(started.elapsed());
        run.end().await;
    }
    row("first byte of a make", &mut plain, &mut ours);

    let (mut plain, mut text, mut sse) = (Vec::new(), Vec::new(), Vec::new());
    let mut expected = 0;
    for _ in 0..ROUNDS.min(5) {
        plain.push(timed(|| {
            let mut make = make_in(&workspace, "flood");
            let mut out = make.stdout.take().unwrap();
            expected = std::io::copy(&mut out, &mut std::io::sink()).unwrap();
            make.wait().unwrap();
        }));
        for (accept, times) in [("text/plain", &mut text), ("text/event-stream", &mut sse)] {
            let started = Instant::now();
            let answer = yard
                .request(
                    reqwest::Method::POST,
                    "/stream/repos/demo/branches/main/make",
                )
                .header("accept", accept)
                .json(&json!({"args": ["flood"], "sync": "none"}))
                .send()
                .await
                .unwrap();
            let (mut body, mut length) = (answer.bytes_stream(), 0);
            while let Some(piece) = body.next().await {
                length += piece.unwrap().len() as u64;
            }
            times.push(started.elapsed());
            assert!(length > expected, "{accept}: {length}");
        }
    }
    row("39 MB of lines, text / pipe", &mut plain, &mut text);
    row("39 MB of lines, events / pipe", &mut plain, &mut sse);
    yard.stop().await;
}

/// A command that does not know that it was started below `make bench`: make would say so in its output.
fn plain(program: &str) -> Command {
    let mut command = Command::new(program);
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL"] {
        command.env_remove(name);
    }
    command
}

fn make_in(dir: &Path, target: &str) -> std::process::Child {
    plain("make")
        .arg(target)
        .current_dir(dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

async fn workspaces() {
    let mut yard = yard_with_files().await;
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    let by_hand = yard.dir.path().join("by-hand.git");
    git(
        yard.dir.path(),
        &[
            "clone",
            "-q",
            "--bare",
            &yard.origin.url(),
            by_hand.to_str().unwrap(),
        ],
    );
    for n in 0..ROUNDS {
        let branch = format!("bench-{n}");
        yard.origin.branch(&branch);
        git(
            &by_hand,
            &["fetch", "-q", "origin", &format!("{branch}:{branch}")],
        );
        let path = yard.dir.path().join(format!("w{n}"));
        let add = ["worktree", "add", "-q", path.to_str().unwrap(), &branch];
        plain.push(timed(|| quiet(&by_hand, "git", &add)));
        let started = Instant::now();
        let answer = yard
            .request(
                reqwest::Method::PUT,
                &format!("/api/repos/demo/branches/{branch}"),
            )
            .send()
            .await
            .unwrap();
        ours.push(started.elapsed());
        assert_eq!(answer.status(), 200);
        assert_eq!(
            git(&yard.workspace(&branch), &["rev-parse", "HEAD^{tree}"]),
            git(&path, &["rev-parse", "HEAD^{tree}"])
        );
    }
    row("new workspace / git worktree add", &mut plain, &mut ours);
    yard.stop().await;
}

async fn reads() {
    let mut yard = yard_with_files().await;
    let workspace = yard.workspace("main");
    for (name, args, path, body) in [
        (
            "log -20",
            vec!["log", "-20"],
            "git/quick",
            json!({"operation": "log", "args": ["-20"]}),
        ),
        (
            "status",
            vec!["status", "--porcelain"],
            "git/quick",
            json!({"operation": "status", "args": ["--porcelain"]}),
        ),
        (
            "read a file / git show",
            vec!["show", "HEAD:name.txt"],
            "read_file",
            json!({"path": "name.txt"}),
        ),
    ] {
        let (mut plain, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            plain.push(timed(|| quiet(&workspace, "git", &args)));
            let started = Instant::now();
            yard.post_json(
                &format!("/api/repos/demo/branches/main/{path}"),
                body.clone(),
            )
            .await;
            ours.push(started.elapsed());
        }
        row(name, &mut plain, &mut ours);
    }
    yard.stop().await;
}

/// What it costs to save changed and untracked files before they are discarded.
async fn salvage() {
    let mut yard = yard_with_files().await;
    let workspace = yard.workspace("main");
    let dirty = |round: usize| {
        for n in 0..100 {
            let edit = workspace.join(format!("src/d{}/f{n}.c", n % 30));
            std::fs::write(edit, format!("edited {round}\n")).unwrap();
            std::fs::write(
                workspace.join(format!("new-{n}.c")),
                format!("new {round} {n}\n"),
            )
            .unwrap();
        }
    };
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        dirty(round);
        plain.push(timed(|| {
            quiet(&workspace, "git", &["stash", "push", "-q", "-u"]);
            quiet(&workspace, "git", &["fetch", "-q", "origin", "main"]);
            quiet(&workspace, "git", &["reset", "-q", "--hard", "origin/main"]);
            quiet(&workspace, "make", &["who"]);
        }));
        git(&workspace, &["stash", "drop", "-q"]);
        dirty(round);
        let started = Instant::now();
        let body = json!({"args": ["who"], "sync": "reset", "clean": true});
        let events = yard.run("make", "main", body).await;
        ours.push(started.elapsed());
        assert_eq!(events.last().unwrap().data["exit_code"], 0);
        assert_eq!(git(&workspace, &["status", "--porcelain"]), "");
    }
    let saved = yard.get_json("/api/salvage").await;
    assert_eq!(saved["items"].as_array().unwrap().len(), ROUNDS);
    row(
        "reset, clean, make / stash -u, reset, make",
        &mut plain,
        &mut ours,
    );
    yard.stop().await;
}

/// A listing says of each workspace what `git status` in it would.
async fn listing() {
    const WORKSPACES: usize = 50;
    let mut yard = yard_with_files().await;
    for n in 0..WORKSPACES {
        let branch = format!("bench-{n}");
        yard.origin.push(&branch);
        yard.make(&branch, &["who"]).await;
    }
    let (mut plain, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        plain.push(timed(|| {
            for n in 0..WORKSPACES {
                let workspace = yard.workspace(&format!("bench-{n}"));
                quiet(&workspace, "git", &["status", "--porcelain", "--ignored"]);
            }
        }));
        let started = Instant::now();
        let listed = yard.get_json("/api/repos/demo/branches").await;
        ours.push(started.elapsed());
        assert_eq!(listed["items"].as_array().unwrap().len(), WORKSPACES + 1);
    }
    row(
        "list 51 workspaces / 50 x git status",
        &mut plain,
        &mut ours,
    );
    yard.stop().await;
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn quiet(dir: &Path, program: &str, args: &[&str]) {
    let status = plain(program)
        .args(args)
        .current_dir(dir)
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{program} {args:?}");
}

fn row(name: &str, plain: &mut [Duration], ours: &mut [Duration]) {
    let (plain, ours) = (median(plain), median(ours));
    let ratio = ours.as_secs_f64() / plain.as_secs_f64();
    println!("{name:<44} {plain:>12.2?} {ours:>12.2?} {ratio:>8.2}");
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}
