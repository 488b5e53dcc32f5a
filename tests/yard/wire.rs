//! The wire itself: TLS, the Unix socket, and what keeps one caller from taking all of it.

mod authority;
mod idle;
mod limits;
mod probe;
mod slow;
mod soak;
mod socket;
mod tls;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use reqwest::Response;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::support::{PATIENCE, PROGRAM, Yard};

/// What a program said, and whether it ended well.
#[derive(Debug)]
struct Said {
    ok: bool,
    out: String,
    err: String,
}

impl Said {
    #[track_caller]
    fn ok(self) -> String {
        assert!(self.ok, "{self:?}");
        self.out
    }

    #[track_caller]
    fn refused(self, why: &str) {
        assert!(!self.ok && self.err.contains(why), "{self:?}");
    }
}

/// Runs a program with nothing of the tester's surroundings but the PATH.
async fn run(home: &Path, program: &str, args: &[&str], env: &[(&str, &str)], input: &str) -> Said {
    let mut child = Command::new(program)
        .args(args)
        .env_clear()
        .env("PATH", env!("PATH"))
        .env("HOME", home)
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may have ended without a look at it.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    let ended = tokio::time::timeout(PATIENCE, child.wait_with_output()).await;
    let output = ended.expect("it ends").unwrap();
    Said {
        ok: output.status.success(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The command, told where the daemon is by `args` or `env` alone.
async fn branchyard(yard: &Yard, args: &[&str], env: &[(&str, &str)]) -> Said {
    run(yard.dir.path(), PROGRAM, args, env, "").await
}

/// curl with the daemon's key.
async fn curl(yard: &Yard, args: &[&str]) -> Said {
    let header = format!("@{}", key_file(yard));
    let args = [&["-sS", "--fail-with-body", "-H", &header][..], args].concat();
    run(yard.dir.path(), "curl", &args, &[], "").await
}

fn key_file(yard: &Yard) -> String {
    let file = yard.workspaces.join(".branchyard/auth.header");
    file.to_str().unwrap().to_owned()
}

/// An agent on stdio that asks what it is speaking to; what it was answered.
async fn agent_says_hello(yard: &Yard, args: &[&str]) -> String {
    let hello = serde_json::json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "tests", "version": "1" },
        },
    });
    let args = [&["mcp"][..], args].concat();
    run(yard.dir.path(), PROGRAM, &args, &[], &format!("{hello}\n"))
        .await
        .ok()
}

/// Asks again until the answer is as wanted.
async fn eventually<F>(
    what: &str,
    mut ask: impl FnMut() -> F,
    wanted: impl Fn(&Response) -> bool,
) -> Response
where
    F: Future<Output = Response>,
{
    let by = Instant::now() + PATIENCE;
    loop {
        let answer = ask().await;
        if wanted(&answer) {
            return answer;
        }
        assert!(Instant::now() < by, "never: {what}: {answer:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A number that the daemon counts.
async fn metric(yard: &Yard, name: &str) -> f64 {
    let text = yard.get("/metrics").await.text().await.unwrap();
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok())
        .unwrap_or_default()
}
