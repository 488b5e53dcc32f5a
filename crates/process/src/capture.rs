//! The daemon's own short commands, mostly git: their output whole, their time bounded, and no
//! process left when the caller loses interest.

use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process_group, prlimit};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::{Instant, sleep_until, timeout};

/// From TERM to KILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long output may follow the command's own end.
const DRAIN: Duration = Duration::from_secs(1);

/// How long a command may take.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timeouts {
    pub total: Option<Duration>,
    /// The longest silence on both streams.
    pub stall: Option<Duration>,
}

#[derive(Debug)]
pub struct Captured {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// `stdout` reached its limit and the command was ended there.
    pub truncated: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    #[error("failed to run {program}: {source}")]
    Io { program: String, source: io::Error },
    #[error("{program} gave no sign of progress for {}", humantime::format_duration(*.after))]
    TimedOut { program: String, after: Duration },
}

/// Runs `command` in a process group of its own and collects its output, up to `max_stdout` bytes.
/// Where that is 0 it has no standard output. No process of it may take more `memory` of its own than so many
/// bytes. `on_stderr` sees standard error as it comes. Dropping the future ends the whole group.
pub async fn capture(
    mut command: Command,
    timeouts: Timeouts,
    memory: Option<u64>,
    max_stdout: usize,
    mut on_stderr: impl FnMut(&[u8]) + Send,
) -> Result<Captured, CaptureError> {
    let program = command
        .as_std()
        .get_program()
        .to_string_lossy()
        .into_owned();
    let io_error = |source| CaptureError::Io {
        program: program.clone(),
        source,
    };
    let output = match max_stdout {
        0 => Stdio::null(),
        _ => Stdio::piped(),
    };
    let mut child = command
        .stdout(output)
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(io_error)?;
    let mut group = ProcessGroup::of(&child);
    if let (Some(leader), Some(most)) = (group.0, memory) {
        bound_memory(leader, most);
    }
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let mut chunk = vec![0; 64 * 1024];
    let mut err_chunk = vec![0; 8 * 1024];
    let started = Instant::now();
    let mut heard = started;
    let mut truncated = false;

    let mut status = None;
    while out.is_some() || err.is_some() {
        // A helper that outlives the command (a connection master, say) may keep the pipes open.
        let drained = status.map(|_| (heard + DRAIN, DRAIN));
        let deadline = timeouts.deadline(started, heard);
        tokio::select! {
            n = read(&mut out, &mut chunk) => {
                let n = n.map_err(io_error)?;
                heard = Instant::now();
                let room = max_stdout - stdout.len();
                stdout.extend_from_slice(&chunk[..n.min(room)]);
                if n > room {
                    truncated = true;
                    break;
                }
            }
            n = read(&mut err, &mut err_chunk) => {
                let n = n.map_err(io_error)?;
                heard = Instant::now();
                on_stderr(&err_chunk[..n]);
                keep_tail(&mut stderr, &err_chunk[..n]);
            }
            ended = child.wait(), if status.is_none() => {
                status = Some(ended.map_err(io_error)?);
                heard = Instant::now();
            }
            _ = expired(drained) => break,
            after = expired(deadline), if status.is_none() => {
                group.end(&mut child, &mut err).await;
                return Err(CaptureError::TimedOut { program, after });
            }
        }
    }
    if truncated {
        group.end(&mut child, &mut err).await;
    }
    let deadline = timeouts.deadline(started, heard);
    let status = match status {
        Some(status) => status,
        None => tokio::select! {
            ended = child.wait() => ended.map_err(io_error)?,
            after = expired(deadline) => {
                group.end(&mut child, &mut err).await;
                return Err(CaptureError::TimedOut { program, after });
            }
        },
    };
    group.0 = None;
    Ok(Captured {
        status,
        stdout,
        stderr,
        truncated,
    })
}

/// A command with an empty environment that starts in `dir`.
pub fn plain_command(program: impl AsRef<OsStr>, dir: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir(dir).stdin(Stdio::null());
    command
}

impl Timeouts {
    /// The next moment at which patience ends, and how long it then was.
    fn deadline(self, started: Instant, heard: Instant) -> Option<(Instant, Duration)> {
        let total = self.total.map(|limit| (started + limit, limit));
        let stall = self.stall.map(|limit| (heard + limit, limit));
        [total, stall].into_iter().flatten().min()
    }
}

async fn expired(deadline: Option<(Instant, Duration)>) -> Duration {
    match deadline {
        Some((at, after)) => {
            sleep_until(at).await;
            after
        }
        None => std::future::pending().await,
    }
}

/// Reads what is there; at the end the stream is closed and stays silent.
async fn read<R: AsyncRead + Unpin>(stream: &mut Option<R>, chunk: &mut [u8]) -> io::Result<usize> {
    let Some(reader) = stream else {
        return std::future::pending().await;
    };
    let n = reader.read(chunk).await?;
    if n == 0 {
        *stream = None;
    }
    Ok(n)
}

/// Bounds what `process` and all that it has started may allocate. Files that they map do not count. What is
/// started later inherits the bound, so nothing gets past it: it is set before the children are asked for.
fn bound_memory(process: Pid, most: u64) {
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    // One that has ended needs no bound.
    let _ = prlimit(Some(process), Resource::Data, limit);
    let children = format!("/proc/{process}/task/{process}/children");
    let children = std::fs::read_to_string(children).unwrap_or_default();
    let children = children.split_whitespace();
    for child in children.filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
        bound_memory(child, most);
    }
}

/// Errors come last; progress before them may be long.
fn keep_tail(stderr: &mut Vec<u8>, more: &[u8]) {
    const LIMIT: usize = 64 * 1024;
    stderr.extend_from_slice(more);
    if stderr.len() > 2 * LIMIT {
        stderr.drain(..stderr.len() - LIMIT);
    }
}

/// Ends the group when dropped before the command's end: git's helpers are its children, not ours. It
/// is asked first and not killed, so that git can take its lock files with it.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self(id.and_then(Pid::from_raw))
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.0 {
            let _ = kill_process_group(pid, signal);
        }
    }

    /// Its processes are gone once standard error has no writer any more: the first of them may only have
    /// started the others.
    async fn end(&mut self, child: &mut Child, stderr: &mut Option<ChildStderr>) {
        self.signal(Signal::TERM);
        let mut chunk = [0; 1024];
        let ended = async {
            while stderr.is_some() && read(stderr, &mut chunk).await.is_ok() {}
            child.wait().await
        };
        if timeout(GRACE, ended).await.is_err() {
            self.signal(Signal::KILL);
        }
        self.0 = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::TERM);
    }
}
