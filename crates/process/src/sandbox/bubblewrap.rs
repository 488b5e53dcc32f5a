//! bwrap, by its name, and what it says of itself.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::geteuid;
use tokio::process::Command;

use super::system::System;
use crate::{Timeouts, capture, find_program};

pub(super) const BUBBLEWRAP: &str = "bwrap";

const PATIENCE: Duration = Duration::from_secs(10);
/// More than a trial has to say.
const LONGEST: usize = 4096;

pub(super) fn find_bubblewrap(path: &OsStr) -> Result<PathBuf, String> {
    find_program(BUBBLEWRAP, path)
        .ok_or_else(|| format!("{BUBBLEWRAP} is not in {}", path.to_string_lossy()))
}

/// Attempts it with a user namespace. Root can do without, where that fails.
pub(super) async fn in_some_namespace<T>(
    bubblewrap: &Path,
    attempt: impl AsyncFn(System) -> Result<T, String>,
) -> Result<T, String> {
    let system = |user_namespace| System::look(bubblewrap.to_owned(), user_namespace);
    match attempt(system(true)).await {
        Err(refusal) if geteuid().is_root() => attempt(system(false)).await.map_err(|_| refusal),
        tried => tried,
    }
}

/// What a command that bwrap starts has to say, or why it does not work.
pub(super) async fn on_trial(command: Command) -> Result<Vec<u8>, String> {
    let timeouts = Timeouts {
        total: Some(PATIENCE),
        stall: None,
    };
    let done = capture(command, timeouts, None, LONGEST, |_| {})
        .await
        .map_err(|error| format!("{BUBBLEWRAP}: {error}"))?;
    if !done.status.success() {
        let words = String::from_utf8_lossy(&done.stderr);
        return Err(format!("{} ({})", words.trim(), done.status));
    }
    Ok(done.stdout)
}
