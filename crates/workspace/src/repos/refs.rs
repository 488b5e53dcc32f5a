//! Refs of the remote beside single branches: all branches and tags at once, and what is no branch.

use std::collections::HashMap;
use std::sync::Arc;

use super::RepoError;
use super::blocking::blocking;
use super::remote::remote_heads;
use super::repo::{Progress, Repo};
use branchyard_git as git;
use branchyard_model::{CommitId, NamedRef};

/// All branches and tags of the remote, by full ref; an annotated tag is at itself. Needs no clone.
pub async fn branches_and_tags(repo: &Arc<Repo>) -> Result<HashMap<String, CommitId>, RepoError> {
    let url = repo.config().url.as_str();
    let listing = git::remote_branches_and_tags(repo.git(), url).await?;
    if listing.is_empty() {
        // That may be no answer at all, which is found out there.
        remote_heads(repo, Vec::new()).await?;
    }
    Ok(listing)
}

/// Which of these full refs the remote has, of whatever kind. Needs no clone.
pub async fn named(
    repo: &Arc<Repo>,
    refs: &[String],
) -> Result<HashMap<String, CommitId>, RepoError> {
    let url = repo.config().url.as_str();
    Ok(git::remote_named(repo.git(), url, refs).await?)
}

/// Brings a tag, or the head of a pull request, here as the remote has it now. The commit that it leads to; none where the
/// remote has no such ref, or it leads to no commit.
pub async fn bring(
    this: &Arc<Repo>,
    named: &NamedRef,
    progress: Progress<'_>,
) -> Result<Option<git::ObjectId>, RepoError> {
    this.ensure_store(progress).await?;
    let kept = named.kept_ref();
    let _network = this.network().lock().await;
    this.guard_store()?;
    let fetched = git::fetch_ref(this.git(), this.store(), named.full(), &kept).await;
    if let Err(error) = fetched {
        let is_gone = error.failure() == Some(git::RemoteFailure::NoSuchRef);
        return match is_gone {
            true => Ok(None),
            false => Err(error.into()),
        };
    }
    let repo = this.clone();
    blocking(move || Ok(git::commit_at(&repo.open_store()?, &kept)?)).await
}
