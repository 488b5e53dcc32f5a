//! Work that would hold up its caller's thread.

use crate::Error;
use branchyard_git as git;

/// Runs work that may block.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(git::Error::from)?
}
