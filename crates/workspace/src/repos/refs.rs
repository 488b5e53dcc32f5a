//! What the remote has beside branches and can be built: tags, the heads of requests, and single commits.

use std::collections::HashMap;
use std::sync::Arc;

use super::RepoError;
use super::answers::HeadKind;
use super::blocking::blocking;
use super::repo::{Progress, Repo};
use branchyard_git as git;
use branchyard_model::{BranchName, CommitId, ErrorKind, NamedRef, Problem};

/// What these names stand for at the remote, and the commits. A commit by its id is brought here for that; for the others
/// no clone is needed.
pub(super) async fn tips(
    repo: &Arc<Repo>,
    names: &[NamedRef],
) -> Result<HashMap<BranchName, (HeadKind, Option<CommitId>)>, RepoError> {
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    let wanted = names.iter().flat_map(|named| {
        let listed = named.commit().is_none().then(|| named.full().to_owned());
        [Some(named.name().local_ref()), listed]
    });
    let wanted: Vec<_> = wanted.flatten().collect();
    let found = git::remote_named(repo.git(), repo.config().url.as_str(), &wanted).await?;
    let mut tips = HashMap::new();
    for named in names {
        let branch = found.get(&named.name().local_ref());
        let other = match named.commit() {
            Some(commit) => bring(repo, named, &|_, _| {}).await?.map(|_| commit),
            None => found.get(named.full()).cloned(),
        };
        let tip = match (branch, other) {
            (Some(_), Some(_)) => (HeadKind::Ambiguous, None),
            (Some(branch), None) => (HeadKind::Branch, Some(branch.clone())),
            (None, other) => (HeadKind::Named, other),
        };
        tips.insert(named.name().clone(), tip);
    }
    Ok(tips)
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

/// Brings one here, and has it be what the remote has for a branch of that name.
pub(super) async fn bring_as_branch(
    this: &Arc<Repo>,
    named: &NamedRef,
    progress: Progress<'_>,
) -> Result<(), RepoError> {
    let brought = bring(this, named, progress).await?;
    let commit = brought.ok_or_else(|| no_commit(named))?;
    let (repo, branch) = (this.clone(), named.name().clone());
    blocking(move || {
        let store = repo.open_store()?;
        let beside = git::colliding_refs(&store, "refs/remotes/origin/", &branch)?;
        if let Some(other) = beside.first() {
            let detail = format!("{branch} cannot be here beside the branch {other} of the remote");
            let problem = Problem::new(ErrorKind::Conflict, "branch_collides", detail);
            return Err(problem.field("branch").into());
        }
        Ok(git::keep(&store, &branch.remote_ref(), commit)?)
    })
    .await
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

fn no_commit(named: &NamedRef) -> Problem {
    let detail = format!("{} of the remote leads to no commit", named.full());
    Problem::new(ErrorKind::NotFound, "commit_not_found", detail).field("branch")
}
