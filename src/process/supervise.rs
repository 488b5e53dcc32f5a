//! One command from start to end: spawn, pump its output into the journal, stop it when asked or
//! when its time is up, and leave nothing of it alive.

use std::cell::Cell;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, kill_process_group, pidfd_open, waitid,
};

use super::remains::{RUN_ID_VARIABLE, ask_strays_of, end_processes_of, has_processes};
use crate::journal::{FrameKind, MAX_OUTPUT, Stream, Writer};
use crate::model::RunId;

/// A larger pipe lets a chatty command run ahead instead of waking us for every few lines.
const PIPE_SIZE: usize = 1024 * 1024;

/// How often the rest of a stopped run is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[derive(Debug, Clone)]
pub struct Launch {
    pub run: RunId,
    pub argv: Vec<String>,
    pub cwd: PathBuf,
    /// The whole environment but for the run's id; nothing is inherited.
    pub env: Vec<(String, String)>,
    pub timeout: Duration,
    /// From TERM to KILL.
    pub grace: Duration,
    /// How long output may follow the command's own end.
    pub drain: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Code(i32),
    Signal(i32),
}

/// Why a command was stopped before its own end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    Asked,
    TimedOut,
}

#[derive(Debug)]
pub struct Exit {
    pub outcome: Outcome,
    pub stopped: Option<Stop>,
    /// Something kept the output open after the command's end and was cut off.
    pub leaked: bool,
    /// Output that could not be written, and why. The command was not disturbed by it.
    pub unwritten: Option<io::Error>,
}

/// The other end of [`supervise`]'s stop descriptor; dropping it stops nothing.
#[derive(Debug)]
pub struct StopHandle(OwnedFd);

impl StopHandle {
    pub fn stop(&self) {
        // A full pipe or a reader that is gone both mean that the word is not needed any more.
        let _ = rustix::io::write(&self.0, b"s");
    }
}

pub fn stop_channel() -> io::Result<(StopHandle, OwnedFd)> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
    Ok((StopHandle(write), read))
}

/// Runs the command to its end; blocks the thread. An error means that nothing was started.
pub fn supervise(launch: &Launch, journal: &mut Writer, stop: &OwnedFd) -> io::Result<Exit> {
    let mut child = spawn(launch)?;
    let mut run = match Supervised::new(launch, &mut child, stop) {
        Ok(run) => run,
        Err(error) => {
            // Started but not to be watched: it must not go on unseen.
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
    };
    let result = run.pump_until_end(journal);
    run.end_the_rest();
    let exit = run.exit(result);
    child.wait()?;
    exit
}

fn spawn(launch: &Launch) -> io::Result<Child> {
    let (program, args) = launch
        .argv
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program"))?;
    Command::new(program)
        .args(args)
        .current_dir(&launch.cwd)
        .env_clear()
        .envs(launch.env.iter().map(|(name, value)| (name, value)))
        .env(RUN_ID_VARIABLE, launch.run.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
}

struct Supervised<'a> {
    launch: &'a Launch,
    pid: Pid,
    pidfd: OwnedFd,
    stop: &'a OwnedFd,
    stop_is_open: Cell<bool>,
    streams: [(Stream, Option<OwnedFd>); 2],
    outcome: Option<Outcome>,
    stopped: Option<Stop>,
    timeout_at: Option<Instant>,
    kill_at: Option<Instant>,
    drained_by: Option<Instant>,
    leaked: bool,
    unwritten: Option<io::Error>,
}

impl<'a> Supervised<'a> {
    fn new(launch: &'a Launch, child: &mut Child, stop: &'a OwnedFd) -> io::Result<Self> {
        let pid = i32::try_from(child.id())
            .ok()
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("the child has no process id"))?;
        let streams = [
            (Stream::Stdout, child.stdout.take().map(OwnedFd::from)),
            (Stream::Stderr, child.stderr.take().map(OwnedFd::from)),
        ];
        for (_, fd) in &streams {
            if let Some(fd) = fd {
                rustix::io::ioctl_fionbio(fd, true)?;
                // Only a speed-up; the system's limit on pipe memory may refuse it.
                let _ = rustix::pipe::fcntl_setpipe_size(fd, PIPE_SIZE);
            }
        }
        Ok(Self {
            launch,
            pid,
            pidfd: pidfd_open(pid, PidfdFlags::empty())?,
            stop,
            stop_is_open: Cell::new(true),
            streams,
            outcome: None,
            stopped: None,
            timeout_at: Instant::now().checked_add(launch.timeout),
            kill_at: None,
            drained_by: None,
            leaked: false,
            unwritten: None,
        })
    }

    /// Pumps until the command has ended and its output is drained.
    fn pump_until_end(&mut self, journal: &mut Writer) -> io::Result<()> {
        let mut buffer = vec![0; MAX_OUTPUT];
        loop {
            let ready = self.wait()?;
            let now = Instant::now();
            if ready.stop || self.timeout_at.is_some_and(|at| at <= now) {
                let why = if ready.stop {
                    Stop::Asked
                } else {
                    Stop::TimedOut
                };
                self.begin_stop(why, now);
            }
            if self.kill_at.is_some_and(|at| at <= now) {
                self.kill_at = None;
                self.drained_by = self.outcome.and(now.checked_add(self.launch.drain));
                self.signal_group(Signal::KILL);
                end_processes_of(self.launch.run);
            }
            for index in [0, 1] {
                if ready.streams[index] {
                    self.pump(index, &mut buffer, journal);
                }
            }
            if ready.exited && self.outcome.is_none() {
                self.outcome = self.peek_outcome()?;
                if self.kill_at.is_none() {
                    self.drained_by = now.checked_add(self.launch.drain);
                }
            }
            if self.outcome.is_some() && self.is_over(now) {
                return Ok(());
            }
        }
    }

    /// Whether nothing more is to be waited for after the command's own end: its output is drained, and
    /// where it was stopped, whatever else it started has had the whole grace to end as well.
    fn is_over(&mut self, now: Instant) -> bool {
        let drained = self.streams.iter().all(|(_, fd)| fd.is_none());
        if self.kill_at.is_some() {
            return drained && !has_processes(self.launch.run);
        }
        self.leaked = !drained && self.drained_by.is_some_and(|by| by <= now);
        drained || self.leaked
    }

    fn begin_stop(&mut self, why: Stop, now: Instant) {
        self.timeout_at = None;
        // A command that has already ended by itself was not stopped.
        if self.stopped.is_none() && self.outcome.is_none() {
            self.stopped = Some(why);
            self.kill_at = now.checked_add(self.launch.grace);
            self.signal_group(Signal::TERM);
            ask_strays_of(self.launch.run, self.pid);
        }
    }

    fn signal_group(&self, signal: Signal) {
        // The child is not reaped before the end, so the group's number cannot be another's.
        let _ = kill_process_group(self.pid, signal);
    }

    fn wait(&self) -> io::Result<Ready> {
        let mut ready = Ready::default();
        let mut fds = Vec::with_capacity(4);
        if self.stopped.is_none() && self.stop_is_open.get() {
            fds.push((Source::Stop, PollFd::new(self.stop, PollFlags::IN)));
        }
        if self.outcome.is_none() {
            fds.push((Source::Exit, PollFd::new(&self.pidfd, PollFlags::IN)));
        }
        for (index, (_, fd)) in self.streams.iter().enumerate() {
            if let Some(fd) = fd {
                fds.push((Source::Stream(index), PollFd::new(fd, PollFlags::IN)));
            }
        }
        // Others than the command itself cannot be waited for, only looked at.
        let look_again = self
            .kill_at
            .and(self.outcome)
            .map(|_| Instant::now() + LOOK_AGAIN);
        let deadline = [self.timeout_at, self.kill_at, self.drained_by, look_again]
            .into_iter()
            .flatten()
            .min();
        let patience = deadline.map(|at| timespec(at.saturating_duration_since(Instant::now())));
        let (sources, mut polled): (Vec<_>, Vec<_>) = fds.into_iter().unzip();
        match poll(&mut polled, patience.as_ref()) {
            Err(rustix::io::Errno::INTR) => return Ok(ready),
            other => other?,
        };
        for (source, fd) in sources.into_iter().zip(&polled) {
            let is_ready = !fd.revents().is_empty();
            match source {
                // A closed stop channel is no word to stop, and will never speak again.
                Source::Stop => {
                    ready.stop = fd.revents().contains(PollFlags::IN);
                    self.stop_is_open.set(!is_ready);
                }
                Source::Exit => ready.exited = is_ready,
                Source::Stream(index) => ready.streams[index] = is_ready,
            }
        }
        Ok(ready)
    }

    fn pump(&mut self, index: usize, buffer: &mut [u8], journal: &mut Writer) {
        let (stream, Some(fd)) = &self.streams[index] else {
            return;
        };
        match rustix::io::read(fd.as_fd(), &mut *buffer) {
            Ok(0) => self.streams[index].1 = None,
            Ok(n) => {
                // A full disk must not end the build: its output is dropped, its end still told.
                if self.unwritten.is_none() {
                    self.unwritten = journal
                        .append(FrameKind::Output(*stream), &buffer[..n])
                        .err();
                }
            }
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => {}
            Err(_) => self.streams[index].1 = None,
        }
    }

    /// The child's end, without reaping it: until it is reaped, its group's number stays its own.
    fn peek_outcome(&self) -> io::Result<Option<Outcome>> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        let Some(status) = waitid(WaitId::Pid(self.pid), options)? else {
            return Ok(None);
        };
        Ok(status
            .exit_status()
            .map(Outcome::Code)
            .or_else(|| status.terminating_signal().map(Outcome::Signal)))
    }

    /// Nothing of a run goes on after its end, where it could write into the next one's files.
    fn end_the_rest(&self) {
        self.signal_group(Signal::KILL);
        end_processes_of(self.launch.run);
    }

    fn exit(self, result: io::Result<()>) -> io::Result<Exit> {
        let outcome = match (self.outcome, result) {
            (Some(outcome), _) => outcome,
            (None, Err(error)) => return Err(error),
            (None, Ok(())) => return Err(io::Error::other("the command's end was not seen")),
        };
        Ok(Exit {
            outcome,
            stopped: self.stopped,
            leaked: self.leaked,
            unwritten: self.unwritten,
        })
    }
}

enum Source {
    Stop,
    Exit,
    Stream(usize),
}

#[derive(Default)]
struct Ready {
    stop: bool,
    exited: bool,
    streams: [bool; 2],
}

fn timespec(duration: Duration) -> Timespec {
    // Rounded up to the next millisecond: waking early would only spin.
    let duration = duration.saturating_add(Duration::from_nanos(999_999));
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(duration.subsec_millis()) * 1_000_000,
    }
}
