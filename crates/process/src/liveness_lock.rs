//! LivenessLock of life: the lock that a supervisor holds for as long as it lives.
//!
//! The daemon takes the lock and hands the open file to the supervisor together with the run; so there is no moment at which a live supervisor is without it. The kernel lets go
//! of it with the process, whatever ends it. What stands in the file says which process that is; it is
//! written before the command is started and after all of the launch was read.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::descendants;
use branchyard_runtime::disk::if_there;

pub(super) const FILE: &str = "alive";
/// More than any [`FileIdentity`] takes.
const NAME_LEN: usize = 256;

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileIdentity {
    pid: i32,
    /// In the kernel's ticks since it was booted.
    started: u64,
    boot: u128,
}

/// What a run's directory says about its supervisor.
#[derive(Debug)]
pub(super) enum LivenessLock {
    /// None was ever started, or it went before it could have started the command.
    Never,
    Alive(File),
    /// There was one; it is gone.
    Gone,
}

/// Makes the lock file of a run, locked. It must not exist: a run is started once.
pub(super) fn create(home: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(home.join(FILE))?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    // Room for the name that is to stand in it; its length, which is what counts, stays nothing.
    match fallocate(&file, FallocateFlags::KEEP_SIZE, 0, NAME_LEN as u64) {
        Err(rustix::io::Errno::NOSPC) => Err(rustix::io::Errno::NOSPC.into()),
        // Not every file system can.
        _ => Ok(file),
    }
}

pub(super) fn find(home: &Path) -> io::Result<LivenessLock> {
    let Some(file) = if_there(File::open(home.join(FILE)))? else {
        return Ok(LivenessLock::Never);
    };
    // Only looked at, and let go of at once: a supervisor never finds its own lock taken by us.
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) if file.metadata()?.len() == 0 => {
            fs::remove_file(home.join(FILE))?;
            Ok(LivenessLock::Never)
        }
        Ok(()) => Ok(LivenessLock::Gone),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(LivenessLock::Alive(file)),
        Err(error) => Err(error.into()),
    }
}

/// The supervisor at work in `home`, without a hand on its lock: it may be about to take it.
pub(super) fn supervisor(home: &Path) -> Option<Pid> {
    let file = File::open(home.join(FILE)).ok()?;
    let said = FileIdentity::read(&file)?;
    let pid = said.pid()?;
    (FileIdentity::of(pid).ok()? == said).then_some(pid)
}

impl FileIdentity {
    /// This very process.
    pub(super) fn own() -> io::Result<Self> {
        Self::of(rustix::process::getpid())
    }

    pub(super) fn of(pid: Pid) -> io::Result<Self> {
        let started = descendants::started(pid)
            .ok_or_else(|| io::Error::other("the kernel does not say when a process started"))?;
        Ok(Self {
            pid: pid.as_raw_nonzero().get(),
            started,
            boot: boot()?,
        })
    }

    pub(super) fn pid(self) -> Option<Pid> {
        Pid::from_raw(self.pid)
    }

    /// Writes it into the lock file, which says that the process is ready to be sent signals.
    pub(super) fn write(self, file: impl AsFd) -> io::Result<()> {
        let file = File::from(file.as_fd().try_clone_to_owned()?);
        file.write_all_at(&serde_json::to_vec(&self)?, 0)
    }

    /// What the lock file says; `None` before the supervisor wrote it.
    pub(super) fn read(file: &File) -> Option<Self> {
        let mut text = [0; NAME_LEN];
        let len = file.read_at(&mut text, 0).ok()?;
        serde_json::from_slice(&text[..len]).ok()
    }
}

/// Which boot of the machine this is: process numbers and start times begin anew with each.
fn boot() -> io::Result<u128> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    let hex: String = text.chars().filter(char::is_ascii_hexdigit).collect();
    u128::from_str_radix(&hex, 16).map_err(io::Error::other)
}
