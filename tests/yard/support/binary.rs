//! The real program as a process of its own, which can be sent signals.

use std::path::Path;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use super::PATIENCE;

/// A user with no privileges, by whom daemons are started that must not be root.
pub const ORDINARY: u32 = 65534;

/// A daemon that this test started; ended with the test.
pub struct Binary {
    child: Child,
    lines: mpsc::UnboundedReceiver<String>,
    /// Everything that it has said so far, on both streams.
    pub said: Vec<String>,
}

impl Binary {
    pub fn spawn(program: &str, config: &Path, home: &Path, env: &[(&str, &str)]) -> Self {
        Self::spawn_by(Command::new(program), config, home, env)
    }

    /// As [`Binary::spawn`], by a user who is not root.
    pub fn spawn_ordinary(program: &str, config: &Path, home: &Path) -> Self {
        let mut command = Command::new(program);
        command.uid(ORDINARY).gid(ORDINARY);
        Self::spawn_by(command, config, home, &[])
    }

    fn spawn_by(mut command: Command, config: &Path, home: &Path, env: &[(&str, &str)]) -> Self {
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(config)
            .env_clear()
            .env("PATH", env!("PATH"))
            .env("HOME", home)
            .envs(env.iter().copied())
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (tell, lines) = mpsc::unbounded_channel();
        forward(child.stdout.take().unwrap(), tell.clone());
        forward(child.stderr.take().unwrap(), tell);
        Self {
            child,
            lines,
            said: Vec::new(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id().expect("it has not ended")
    }

    /// Whether it has not ended yet.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for a line that holds `text`, said at any time since the start.
    pub async fn until_said(&mut self, text: &str) -> String {
        let mut looked_at = 0;
        loop {
            while looked_at < self.said.len() {
                if self.said[looked_at].contains(text) {
                    return self.said[looked_at].clone();
                }
                looked_at += 1;
            }
            let next = tokio::time::timeout(PATIENCE, self.lines.recv()).await;
            let line = next.unwrap_or_else(|_| panic!("{text:?} never came: {:#?}", self.said));
            let line = line.unwrap_or_else(|| panic!("{text:?} never came: {:#?}", self.said));
            self.said.push(line);
        }
    }

    /// What it has said so far; all of it once it has ended.
    pub fn said(&self) -> &[String] {
        &self.said
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.pid()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// `kill -9`; returns when it is gone.
    pub async fn kill(&mut self) {
        self.signal(Signal::KILL);
        assert!(!self.ended().await.success());
    }

    /// TERM, while nothing is under way.
    pub async fn stop(&mut self) {
        self.signal(Signal::TERM);
        let status = self.ended().await;
        assert!(status.success(), "{status}: {:#?}", self.said);
    }

    /// Waits for its end and for everything that it still said.
    pub async fn ended(&mut self) -> ExitStatus {
        let waited = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let status = waited
            .unwrap_or_else(|_| panic!("it does not end: {:#?}", self.said))
            .unwrap();
        // A build that outlived it may still hold its streams open, so only what is there is read.
        while let Ok(line) = self.lines.try_recv() {
            self.said.push(line);
        }
        status
    }
}

fn forward(from: impl AsyncRead + Unpin + Send + 'static, to: mpsc::UnboundedSender<String>) {
    tokio::spawn(async move {
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if to.send(line).is_err() {
                return;
            }
        }
    });
}
