//! A workspace while others copy from it: no command starts there and no file is moved by us. Several may copy
//! at the same time. Whoever has a use for the workspace itself comes first.

use crate::FilesGuard;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::{Workspace, WorkspaceLock};

/// How long somebody who wants its lock waits for a copy, before that is given up.
const COURTESY: Duration = Duration::from_millis(500);

/// What is held of a workspace while somebody copies from it.
#[derive(Debug, Default)]
pub(crate) struct Lending(Mutex<Option<Held>>);

#[derive(Debug)]
struct Held {
    copies: usize,
    _lock: WorkspaceLock,
    _files: FilesGuard,
}

/// A workspace that is left as it is until the last of these is dropped.
#[derive(Debug)]
pub(super) struct Lent {
    pub(super) workspace: Arc<Workspace>,
    wanted_since: OnceLock<Instant>,
}

impl Lending {
    fn lock(&self) -> MutexGuard<'_, Option<Held>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Workspace {
    /// `None` where somebody is at work, or waits to be.
    pub(super) fn lend(self: &Arc<Self>) -> Option<Lent> {
        let mut held = self.lending.lock();
        match held.as_mut() {
            Some(_) if self.queue.is_wanted() => return None,
            Some(held) => held.copies += 1,
            None => {
                let lock = self
                    .queue
                    .try_lock("warm start of another branch", "branchyard")?;
                let files_guard = self.files.clone().try_read_owned().ok()?;
                *held = Some(Held {
                    copies: 1,
                    _lock: lock,
                    _files: files_guard,
                });
            }
        }
        Some(Lent {
            workspace: self.clone(),
            wanted_since: OnceLock::new(),
        })
    }
}

impl Lent {
    /// Whether somebody has waited for it for long enough.
    pub(super) fn is_called_back(&self) -> bool {
        self.workspace.queue.is_wanted()
            && self.wanted_since.get_or_init(Instant::now).elapsed() > COURTESY
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        let mut held = self.workspace.lending.lock();
        if let Some(others) = held.as_mut() {
            others.copies -= 1;
            if others.copies == 0 {
                *held = None;
            }
        }
    }
}
