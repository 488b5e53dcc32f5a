//! What is held of a workspace while others copy from it: no command starts there, and no file is moved by us.

use parking_lot::Mutex;

use crate::files_lock::FilesLock;
use crate::{FilesGuard, WorkspaceLock, WorkspaceQueue};

#[derive(Debug, Default)]
pub(crate) struct Lending(Mutex<Option<Held>>);

#[derive(Debug)]
struct Held {
    copies: usize,
    _lock: WorkspaceLock,
    _files: FilesGuard,
}

impl Lending {
    /// For one more copy; `None` where somebody is at work, or waits to be.
    pub(crate) fn begin(&self, queue: &WorkspaceQueue, files: &FilesLock) -> Option<()> {
        let mut held = self.0.lock();
        match held.as_mut() {
            Some(_) if queue.is_wanted() => return None,
            Some(held) => held.copies += 1,
            None => {
                *held = Some(Held {
                    copies: 1,
                    _lock: queue.try_lock("warm start of another branch", "branchyard")?,
                    _files: files.try_share()?,
                });
            }
        }
        Some(())
    }

    pub(crate) fn end(&self) {
        let mut held = self.0.lock();
        if let Some(others) = held.as_mut() {
            others.copies -= 1;
            if others.copies == 0 {
                *held = None;
            }
        }
    }
}
