//! Work of git that would hold up its caller's thread.

use super::RepoError;
use branchyard_git as git;

/// Looks into the store where that may block.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, RepoError> + Send + 'static,
) -> Result<T, RepoError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(git::Error::from)?
}
