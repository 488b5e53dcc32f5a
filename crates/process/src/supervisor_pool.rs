//! A supervisor in waiting. To start a process takes about as long as all else that is done before a
//! command runs; so the next run's is started while nobody waits for it.
//!
//! It is told of its run by the line that it was given: what to run, and with it the run's lock, which is
//! held by whoever has the message. The end of the line without a word means that it is not needed.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use parking_lot::Mutex;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::Pid;

use super::StartLimit;
use branchyard_config::crash_variable;

/// The hidden word on the command line that makes this program a supervisor.
pub const SUPERVISOR_COMMAND: &str = "supervise-run";

const ONE_DESCRIPTOR: usize = rustix::cmsg_space!(ScmRights(1));

/// Where supervisors come from.
#[derive(Debug)]
pub struct SupervisorPool {
    program: PathBuf,
    /// What holds for a command before its run is enclosed.
    limit: Option<StartLimit>,
    ready: Mutex<Option<Idle>>,
}

/// A supervisor that was told nothing yet.
#[derive(Debug)]
pub(super) struct Idle {
    child: Child,
    line: UnixStream,
}

impl SupervisorPool {
    /// Supervisors are started by `program`, within `limit`.
    pub fn new(program: PathBuf, limit: Option<StartLimit>) -> Self {
        Self {
            program,
            limit,
            ready: Mutex::default(),
        }
    }

    /// Has one ready for the next run. Blocks for as long as a process takes to start.
    pub fn prepare(&self) {
        if self.ready.lock().is_some() {
            return;
        }
        match self.start() {
            Ok(idle) => {
                let spare = self.ready.lock().replace(idle);
                if let Some(spare) = spare {
                    spare.dismiss();
                }
            }
            // The next run starts its own, and says what is wrong.
            Err(error) => tracing::warn!(%error, "no supervisor could be started in advance"),
        }
    }

    /// One that is there already, if it is.
    pub(super) fn take(&self) -> Option<Idle> {
        let mut idle = self.ready.lock().take()?;
        matches!(idle.child.try_wait(), Ok(None)).then_some(idle)
    }

    pub(super) fn start(&self) -> io::Result<Idle> {
        let idle = Idle::start(&self.program)?;
        if let Some(limit) = &self.limit
            && let Err(error) = limit.hold(Pid::from_child(&idle.child))
        {
            tracing::warn!(%error, "the limit of processes holds only once a run is enclosed");
        }
        Ok(idle)
    }
}

impl Drop for SupervisorPool {
    fn drop(&mut self) {
        if let Some(idle) = self.ready.lock().take() {
            idle.dismiss();
        }
        if let Some(limit) = &self.limit {
            limit.sweep();
        }
    }
}

impl Idle {
    fn start(program: &Path) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        let child = Command::new(program)
            .arg0("branchyard")
            .arg(SUPERVISOR_COMMAND)
            .env_clear()
            .envs(crash_variable())
            .current_dir("/")
            .stdin(Stdio::null())
            .stdout(Stdio::from(OwnedFd::from(theirs)))
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { child, line })
    }

    pub(super) fn child(&self) -> &Child {
        &self.child
    }

    /// Tells it all there is to know, and hands it the run's lock. After an error it starts nothing, and
    /// is gone.
    pub(super) fn tell(mut self, message: &[u8], lock: &File) -> io::Result<Child> {
        match send(&mut self.line, message, lock) {
            Ok(()) => Ok(self.child),
            Err(error) => {
                // It was not told all; but it should not linger either.
                let _ = self.child.kill();
                let _ = self.child.wait();
                Err(error)
            }
        }
    }

    /// It is not needed.
    pub(super) fn dismiss(mut self) {
        drop(self.line);
        if let Err(error) = self.child.wait() {
            tracing::warn!(%error, "a supervisor that was not needed is not gone");
        }
    }
}

/// Says something, and gives a file, a lock or a socket, with it.
pub(super) fn send(line: &mut UnixStream, message: &[u8], given: &impl AsFd) -> io::Result<()> {
    let given = [given.as_fd()];
    let mut room = [MaybeUninit::uninit(); ONE_DESCRIPTOR];
    let mut with = SendAncillaryBuffer::new(&mut room);
    with.push(SendAncillaryMessage::ScmRights(&given));
    let first = [IoSlice::new(message)];
    let sent = sendmsg(&line, &first, &mut with, SendFlags::NOSIGNAL)?;
    line.write_all(&message[sent..])
}

/// The other side of [`send`]: all that was said, and what was given.
pub(super) fn listen(mut line: UnixStream) -> io::Result<(Vec<u8>, OwnedFd)> {
    let mut told = vec![0; 64 * 1024];
    let mut room = [MaybeUninit::uninit(); ONE_DESCRIPTOR];
    let mut with = RecvAncillaryBuffer::new(&mut room);
    let mut first = [IoSliceMut::new(&mut told)];
    let received = recvmsg(&line, &mut first, &mut with, RecvFlags::CMSG_CLOEXEC)?;
    told.truncate(received.bytes);
    let given = with.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut files) => files.next(),
        _ => None,
    });
    let given = given.ok_or(io::ErrorKind::UnexpectedEof)?;
    line.read_to_end(&mut told)?;
    Ok((told, given))
}
