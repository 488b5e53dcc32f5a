//! The daemon's side of a supervisor: starting one, finding one that an earlier daemon started,
//! waiting for its end, asking it to stop.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::exit::Exit;
use super::liveness_lock::{self, FileIdentity, LivenessLock};
use super::supervisor_pool::{Idle, SupervisorPool};
use super::{Cgroup, Launch, Mechanisms, cpu_time, descendants};
use branchyard_config::crash_point;
use branchyard_model::RunId;

/// From its start until a supervisor is ready for signals it has a few system calls to make.
const READY_WITHIN: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// A supervisor that lives, or did a moment ago.
#[derive(Debug)]
pub struct Supervisor {
    pidfd: AsyncFd<OwnedFd>,
    proof: File,
    /// Where it is our own child it must also be reaped.
    child: Option<Child>,
}

/// What became of a run's supervisor while no daemon looked.
#[derive(Debug)]
pub enum FoundSupervisor {
    NeverStarted,
    Alive(Supervisor),
    Gone,
}

impl Supervisor {
    /// Tells the one that stands by what to run, or one that is started for it. Blocks for as long as that takes.
    /// After an error the command was not started and will not be.
    pub fn start(supervisors: &SupervisorPool, launch: &Launch) -> io::Result<Self> {
        let message = serde_json::to_vec(launch)?;
        Exit::make_room(&launch.home)?;
        let proof = liveness_lock::create(&launch.home)?;
        // Opened anew: what we keep must not be the lock itself. And now, while nothing runs yet that an
        // error would leave alone.
        let seen = File::open(launch.home.join(liveness_lock::FILE))?;
        crash_point("locked");
        let idle = supervisors.take();
        let told = idle.and_then(|idle| hand_over(idle, &message, &proof).ok());
        let (pidfd, child) = match told {
            Some(told) => told,
            // One that stood by may be gone by now; then it has started nothing.
            None => hand_over(supervisors.start()?, &message, &proof)?,
        };
        crash_point("handed-over");
        Ok(Self {
            pidfd,
            proof: seen,
            child: Some(child),
        })
    }

    /// Whether the run in `home` has a supervisor that is at work.
    pub fn is_alive(home: &Path) -> bool {
        matches!(liveness_lock::find(home), Ok(LivenessLock::Alive(_)))
    }

    /// Processor time that the run in `home` took until now; `None` where it is not under way.
    pub fn cpu_time(home: &Path, mechanisms: &Mechanisms, run: RunId) -> Option<Duration> {
        let pid = liveness_lock::supervisor(home)?;
        Some(cpu_time::taken(pid, &Cgroup::of(mechanisms, run, pid)))
    }

    /// Looks for the supervisor of the run in `home`.
    pub fn find(home: &Path) -> io::Result<FoundSupervisor> {
        let started = Instant::now();
        loop {
            let proof = match liveness_lock::find(home)? {
                LivenessLock::Never => return Ok(FoundSupervisor::NeverStarted),
                LivenessLock::Gone => return Ok(FoundSupervisor::Gone),
                LivenessLock::Alive(proof) => proof,
            };
            if let Some(pidfd) = identified(&proof) {
                return Ok(FoundSupervisor::Alive(Self {
                    pidfd,
                    proof,
                    child: None,
                }));
            }
            // It holds the lock and has not said yet who it is, or has just ended.
            if started.elapsed() > READY_WITHIN {
                return Err(io::Error::other("a supervisor does not say who it is"));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// Returns when the supervisor is gone, for whatever reason.
    pub async fn ended(&mut self) -> io::Result<()> {
        self.pidfd.ready(Interest::READABLE).await?.retain_ready();
        if let Some(mut child) = self.child.take() {
            child.wait()?;
        }
        Ok(())
    }

    /// Has the command stopped: TERM, grace, KILL. Safe to ask for more than once.
    pub async fn stop(&self) -> io::Result<()> {
        let started = Instant::now();
        // Before it has said who it is, it would die of the signal instead of heeding it.
        while FileIdentity::read(&self.proof).is_none() && started.elapsed() < READY_WITHIN {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        self.send(Signal::TERM)?;
        self.wake()
    }

    /// Has it go on, should a signal have stopped it.
    pub fn wake(&self) -> io::Result<()> {
        self.send(Signal::CONT)
    }

    /// Whether it does not do what it is there for, when its command should have ended: it is stopped, or processes of
    /// its command live on. One that only waits for its disk to take the end is not stuck.
    pub fn is_stuck(&self) -> bool {
        let pid = FileIdentity::read(&self.proof).and_then(FileIdentity::pid);
        pid.is_none_or(|pid| descendants::is_stopped(pid) || !descendants::of(pid).is_empty())
    }

    /// Ends it without a word; what it watched over is for the caller to end.
    pub fn kill(&self) -> io::Result<()> {
        self.send(Signal::KILL)
    }

    /// To one that has ended it is no error.
    fn send(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(self.pidfd.get_ref(), signal) {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            other => Ok(other?),
        }
    }
}

/// Tells a supervisor of its run. It is watched before it has anything to do.
fn hand_over(idle: Idle, message: &[u8], proof: &File) -> io::Result<(AsyncFd<OwnedFd>, Child)> {
    crash_point("spawned");
    match watch(Pid::from_child(idle.child())) {
        Ok(pidfd) => Ok((pidfd, idle.tell(message, proof)?)),
        Err(error) => {
            idle.dismiss();
            Err(error)
        }
    }
}

/// The process that the lock file names, unless its number is another's by now.
fn identified(proof: &File) -> Option<AsyncFd<OwnedFd>> {
    let identity = FileIdentity::read(proof)?;
    let pid = identity.pid()?;
    let pidfd = watch(pid).ok()?;
    (FileIdentity::of(pid).ok()? == identity).then_some(pidfd)
}

#[expect(
    deprecated,
    reason = "unsound only for types that lie about their descriptor, and an OwnedFd does not"
)]
fn watch(pid: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(pidfd_open(pid, PidfdFlags::NONBLOCK)?, Interest::READABLE)
}
