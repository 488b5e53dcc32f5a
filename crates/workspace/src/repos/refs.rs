//! What the remote has beside branches and can be built: tags, the heads of requests, and single commits.

use std::collections::HashMap;
use std::sync::Arc;

use super::RepoError;
use super::answers::HeadKind;
use super::blocking::blocking;
use super::repo::{Progress, Repo};
use branchyard_git as git;
use branchyard_model::{BranchName, CommitId, NamedRef};

/// What these names of tags and requests stand for at the remote, and the commits. Needs no clone.
pub(super) async fn tips(
    repo: &Arc<Repo>,
    names: &[NamedRef],
) -> Result<HashMap<BranchName, (HeadKind, Option<CommitId>)>, RepoError> {
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    let wanted = names
        .iter()
        .flat_map(|named| [named.name().local_ref(), named.full().to_owned()]);
    let wanted: Vec<_> = wanted.collect();
    let mut found = git::remote_named(repo.git(), repo.config().url.as_str(), &wanted).await?;
    let tips = names.iter().map(|named| {
        let [branch, other] =
            [&named.name().local_ref(), named.full()].map(|name| found.remove(name));
        let tip = match (branch, other) {
            (Some(_), Some(_)) => (HeadKind::Ambiguous, None),
            (Some(branch), None) => (HeadKind::Branch, Some(branch)),
            (None, other) => (HeadKind::Named, other),
        };
        (named.name().clone(), tip)
    });
    Ok(tips.collect())
}

/// Brings one here as the remote has it now. The commit that it leads to; none where the remote has no such thing, or it
/// leads to no commit.
pub async fn bring(
    this: &Arc<Repo>,
    named: &NamedRef,
    progress: Progress<'_>,
) -> Result<Option<git::ObjectId>, RepoError> {
    this.ensure_store(progress).await?;
    let kept = named.kept_ref();
    if keep_commit(this, named, &kept).await? {
        return at(this, kept).await;
    }
    let _network = this.network().lock().await;
    this.guard_store()?;
    let fetched = git::fetch_ref(this.git(), this.store(), named.full(), &kept).await;
    if let Err(error) = fetched {
        let is_gone = error.failure() == Some(git::RemoteFailure::NoSuchRef);
        return if is_gone { Ok(None) } else { Err(error.into()) };
    }
    at(this, kept).await
}

/// Keeps a commit that is wanted by its id, if it is here.
async fn keep_commit(this: &Arc<Repo>, named: &NamedRef, kept: &str) -> Result<bool, RepoError> {
    let Some(commit) = named.commit() else {
        return Ok(false);
    };
    let (repo, kept) = (this.clone(), kept.to_owned());
    blocking(move || {
        let (store, commit) = (repo.open_store()?, git::object_id(&commit)?);
        let is_here = git::has_commit(&store, commit);
        if is_here {
            git::keep(&store, &kept, commit)?;
        }
        Ok(is_here)
    })
    .await
}

async fn at(this: &Arc<Repo>, kept: String) -> Result<Option<git::ObjectId>, RepoError> {
    let repo = this.clone();
    blocking(move || Ok(git::commit_at(&repo.open_store()?, &kept)?)).await
}
