//! The daemon's side of a supervisor: starting one, finding one that an earlier daemon started,
//! waiting for its end, asking it to stop.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::exit::Exit;
use super::proof::{self, Identity, Proof};
use super::{Launch, SUPERVISOR_COMMAND};
use crate::config::{crash_point, crash_variable};

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
pub enum Found {
    NeverStarted,
    Alive(Supervisor),
    Gone,
}

impl Supervisor {
    /// Starts a supervisor by `program` and tells it what to run. Blocks for as long as that takes.
    /// After an error the command was not started and will not be.
    pub fn start(program: &Path, launch: &Launch) -> io::Result<Self> {
        let message = serde_json::to_vec(launch)?;
        Exit::make_room(&launch.home)?;
        let proof = proof::create(&launch.home)?;
        // Opened anew: what we keep must not be the lock itself. And now, while nothing runs yet that an
        // error would leave alone.
        let seen = File::open(launch.home.join(proof::FILE))?;
        crash_point("locked");
        let (mut ours, theirs) = UnixStream::pair()?;
        let mut child = Command::new(program)
            .arg0("branchyard")
            .arg(SUPERVISOR_COMMAND)
            .arg(launch.run.to_string())
            .env_clear()
            .envs(crash_variable())
            .current_dir("/")
            .stdin(Stdio::from(proof.try_clone()?))
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .stderr(Stdio::null())
            .spawn()?;
        crash_point("spawned");
        let watched = watch(pid_of(&child)?);
        let told = watched.and_then(|pidfd| ours.write_all(&message).map(|()| pidfd));
        match told {
            Ok(pidfd) => {
                drop(ours);
                crash_point("handed-over");
                Ok(Self {
                    pidfd,
                    proof: seen,
                    child: Some(child),
                })
            }
            Err(error) => {
                // It was not told all, so it starts nothing; but it should not linger either.
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Looks for the supervisor of the run in `home`.
    pub fn find(home: &Path) -> io::Result<Found> {
        let started = Instant::now();
        loop {
            let proof = match proof::find(home)? {
                Proof::Never => return Ok(Found::NeverStarted),
                Proof::Gone => return Ok(Found::Gone),
                Proof::Alive(proof) => proof,
            };
            if let Some(pidfd) = identified(&proof)? {
                return Ok(Found::Alive(Self {
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
        while Identity::read(&self.proof).is_none() && started.elapsed() < READY_WITHIN {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        match pidfd_send_signal(self.pidfd.get_ref(), Signal::TERM) {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            other => Ok(other?),
        }
    }
}

/// The process that the lock file names, unless its number is another's by now.
fn identified(proof: &File) -> io::Result<Option<AsyncFd<OwnedFd>>> {
    let Some(identity) = Identity::read(proof) else {
        return Ok(None);
    };
    let Some(pid) = identity.pid() else {
        return Ok(None);
    };
    let Ok(pidfd) = watch(pid) else {
        return Ok(None);
    };
    Ok(Identity::of(pid)
        .is_ok_and(|now| now == identity)
        .then_some(pidfd))
}

#[expect(
    deprecated,
    reason = "unsound only for types that lie about their descriptor, and an OwnedFd does not"
)]
fn watch(pid: Pid) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(pidfd_open(pid, PidfdFlags::NONBLOCK)?, Interest::READABLE)
}

fn pid_of(child: &Child) -> io::Result<Pid> {
    i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .ok_or_else(|| io::Error::other("the child has no process id"))
}
