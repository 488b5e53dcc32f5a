//! Two daemons never share one workspaces directory.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// How long a lock may outlive the daemon that is named in it.
const LET_GO_WITHIN: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Held for as long as the daemon lives; the kernel lets go of it with the process.
#[derive(Debug)]
pub(super) struct YardLock {
    _file: File,
    /// The directory itself is locked as well: the file may be deleted by hand, and another made in its place.
    _directory: File,
}

impl YardLock {
    pub(super) fn take(state: &Path) -> anyhow::Result<Self> {
        let path = state.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .with_context(|| format!("failed to open {}", path.display()))?;
        let directory =
            File::open(state).with_context(|| format!("failed to open {}", state.display()))?;
        let started = Instant::now();
        while !(is_locked(&file, true)? && is_locked(&directory, false)?) {
            let mut holder = String::new();
            file.rewind()?;
            file.read_to_string(&mut holder).unwrap_or_default();
            // A child that a killed daemon had just forked has the lock until it is a program of its own.
            let is_gone = !Path::new("/proc").join(holder.trim()).exists();
            if is_gone && started.elapsed() < LET_GO_WITHIN {
                std::thread::sleep(LOOK_AGAIN);
                continue;
            }
            bail!(
                "another daemon uses {} (process {}); stop it, or serve another directory with --workspaces",
                state.parent().unwrap_or(state).display(),
                holder.trim(),
            );
        }
        // In place: a full disk has no other room for it.
        let name = format!("{}\n", std::process::id());
        file.write_all_at(name.as_bytes(), 0)?;
        file.set_len(name.len() as u64)?;
        Ok(Self {
            _file: file,
            _directory: directory,
        })
    }
}

/// Whether the lock is ours now. Some network file systems have no locks on what cannot be written to, as a directory
/// cannot; then it is not `needed`.
fn is_locked(file: &File, needed: bool) -> std::io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(_) if !needed => Ok(true),
        Err(errno) => Err(errno.into()),
    }
}
