//! The lock on the files of a workspace: shared by reads and by the running command, exclusive while we create, move
//! or remove files.

use std::sync::Arc;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// The files of a workspace, shared: nothing of ours moves them while it is held.
pub type FilesGuard = OwnedRwLockReadGuard<()>;

/// The files of a workspace, for one who moves them.
pub(crate) type ExclusiveFiles = OwnedRwLockWriteGuard<()>;

#[derive(Debug, Default)]
pub(crate) struct FilesLock(Arc<RwLock<()>>);

impl FilesLock {
    pub(crate) async fn share(&self) -> FilesGuard {
        self.0.clone().read_owned().await
    }

    pub(crate) fn try_share(&self) -> Option<FilesGuard> {
        self.0.clone().try_read_owned().ok()
    }

    pub(crate) async fn lock(&self) -> ExclusiveFiles {
        self.0.clone().write_owned().await
    }

    pub(crate) fn try_lock(&self) -> Option<ExclusiveFiles> {
        self.0.clone().try_write_owned().ok()
    }
}
