//! Two daemons never share one workspaces directory.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, bail};
use rustix::fs::{FlockOperation, flock};

/// Held for as long as the daemon lives; the kernel lets go of it with the process.
#[derive(Debug)]
pub(super) struct YardLock {
    _file: File,
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
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            let mut holder = String::new();
            file.read_to_string(&mut holder).unwrap_or_default();
            bail!(
                "another daemon uses {} (process {}); stop it, or serve another directory with --workspaces",
                state.parent().unwrap_or(state).display(),
                holder.trim(),
            );
        }
        file.set_len(0)?;
        file.rewind()?;
        writeln!(file, "{}", std::process::id())?;
        Ok(Self { _file: file })
    }
}
