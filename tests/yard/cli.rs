//! The `branchyard` command itself, as a shell starts it: the real binary against a real daemon.

mod agent_platform;
mod artifacts;
mod audit;
mod canned;
mod completions;
mod daemon;
mod deliveries;
mod files;
mod forecast;
mod groups;
mod here;
mod json;
mod keys;
mod look;
mod mcp;
mod offline;
mod pipeline_runs;
mod pipelines;
mod reap;
mod restart;
mod runs;
mod tables;
mod terminal;
mod test_history;
mod token;
mod top;
mod yard;

use std::path::Path;
use std::process::{ExitStatus, Stdio};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};

use crate::support::{PATIENCE, Yard};

const PROGRAM: &str = env!("CARGO_BIN_EXE_branchyard");

/// What a command said, and how it ended.
#[derive(Debug)]
struct Said {
    code: i32,
    stdout: Vec<u8>,
    stderr: String,
}

impl Said {
    fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    fn text_lossy(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// The cells of its lines.
    fn cells(&self) -> Vec<Vec<&str>> {
        let lines = self.text().lines();
        lines.map(|line| line.split('\t').collect()).collect()
    }

    /// It ended well.
    #[track_caller]
    fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{self:?}");
        self
    }

    /// It ended with `code` and said why, in these words among others.
    #[track_caller]
    fn refused(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        for word in words {
            assert!(self.stderr.contains(word), "no {word:?} in {self:?}");
        }
        self
    }

    #[track_caller]
    fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// The command with nothing of the tester's own surroundings but the PATH.
fn bare(home: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command
        .args(args)
        .env_clear()
        .env("PATH", env!("PATH"))
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// The command, told where the daemon is.
fn command(yard: &Yard, args: &[&str]) -> Command {
    let mut command = bare(yard.dir.path(), args);
    command
        .env("BRANCHYARD_URL", &yard.url)
        .env("BRANCHYARD_KEY_FILE", key_file(yard));
    command
}

fn key_file(yard: &Yard) -> std::path::PathBuf {
    yard.workspaces.join(".branchyard/auth.header")
}

async fn cli(yard: &Yard, args: &[&str]) -> Said {
    said(command(yard, args)).await
}

async fn said(mut command: Command) -> Said {
    let output = tokio::time::timeout(PATIENCE, command.output()).await;
    let output = output.expect("the command ends").unwrap();
    Said {
        code: output.status.code().expect("not by a signal"),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A command under way.
struct Underway {
    child: Child,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Underway {
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, stdout }
    }

    /// Reads on to a line that `wanted` likes.
    async fn until(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let reading = async {
            loop {
                let line = self.stdout.next_line().await.unwrap();
                match line {
                    Some(line) if wanted(&line) => return line,
                    Some(_) => {}
                    None => panic!(
                        "it ended before; stderr: {}",
                        stderr_of(&mut self.child).await
                    ),
                }
            }
        };
        let line = tokio::time::timeout(PATIENCE, reading).await;
        line.expect("the line comes")
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = i32::try_from(self.child.id().unwrap()).unwrap();
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for the end; what was not read of stdout, and stderr.
    async fn end(mut self) -> Said {
        let ending = async {
            let mut rest = Vec::new();
            let stdout = self.stdout.get_mut().read_to_end(&mut rest);
            let (read, stderr) = tokio::join!(stdout, stderr_of(&mut self.child));
            read.unwrap();
            (rest, stderr, self.child.wait().await.unwrap())
        };
        let ended = tokio::time::timeout(PATIENCE, ending).await;
        let (stdout, stderr, status): (_, _, ExitStatus) = ended.expect("it ends");
        Said {
            code: status.code().expect("not by a signal"),
            stdout,
            stderr,
        }
    }
}

async fn stderr_of(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(stderr) = &mut child.stderr {
        stderr.read_to_string(&mut text).await.unwrap();
    }
    text
}

/// What a command under way says on stderr, to be waited for.
struct Stderr {
    lines: Lines<BufReader<ChildStderr>>,
    said: String,
}

impl Stderr {
    fn of(command: &mut Underway) -> Self {
        let stderr = command.child.stderr.take().unwrap();
        Self {
            lines: BufReader::new(stderr).lines(),
            said: String::new(),
        }
    }

    /// Reads on until all that was said holds `text`.
    async fn until(&mut self, text: &str) {
        let reading = async {
            while !self.said.contains(text) {
                match self.lines.next_line().await.unwrap() {
                    Some(line) => self.said.extend([line.as_str(), "\n"]),
                    None => panic!("it ended before {text:?}: {}", self.said),
                }
            }
        };
        let read = tokio::time::timeout(PATIENCE, reading).await;
        assert!(read.is_ok(), "no {text:?} in {:?}", self.said);
    }

    /// All of it, once the command has ended.
    async fn rest(mut self) -> String {
        while let Some(line) = self.lines.next_line().await.unwrap() {
            self.said.extend([line.as_str(), "\n"]);
        }
        self.said
    }
}
