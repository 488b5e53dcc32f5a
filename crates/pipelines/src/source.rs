//! Which commit a pipeline is for. Nothing is changed but the store, which is brought up to date.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use jiff::{SignedDuration, Timestamp};

use crate::pipelines::Pipelines;
use branchyard_git::{self as git, CommitTree, Repository, commit_id, object_id};
use branchyard_model::{BranchName, CommitId, ErrorKind, NamedRef, PipelineId, Problem};
use branchyard_workspace::repos::{Repo, refs, remote};
use branchyard_workspace::{branch_not_found, snapshot};

/// By then what was about to begin has begun.
const SETTLED: SignedDuration = SignedDuration::from_hours(1);

/// The commit of a pipeline.
#[derive(Debug, Clone)]
pub struct PipelineCommit {
    pub branch: BranchName,
    /// As git names it.
    pub git_ref: String,
    pub commit: CommitId,
    pub tree: CommitId,
    /// Whether the remote has it on the branch.
    pub is_on_remote: bool,
    pub is_remote_tip: bool,
}

/// The branch that is meant where none is named.
pub(crate) async fn branch(
    repo: &Arc<Repo>,
    named: Option<&BranchName>,
) -> Result<BranchName, Problem> {
    if let Some(branch) = named {
        return Ok(branch.clone());
    }
    let learned = repo.learn_default().await;
    learned.map_err(|error| error.problem())?;
    let name = repo.default_branch().ok_or_else(|| {
        let detail = "the remote does not say which branch is its default";
        Problem::unprocessable("branch", detail).help("name the branch")
    })?;
    BranchName::parse(&name)
}

/// Brings the branch, tag, pull request or commit here, and finds the commit that is meant: the newest that this yard or the
/// remote has of it, or the one that is named, which has to be of it.
pub async fn commit(
    repo: &Arc<Repo>,
    branch: &BranchName,
    wanted: Option<&CommitId>,
) -> Result<PipelineCommit, Problem> {
    let asked = remote::ask(repo, branch, Instant::now()).await;
    let asked = asked.map_err(|error| error.problem())?;
    if let Some(named) = asked.named(branch) {
        return commit_of_named(repo, named, wanted).await;
    }
    if asked.head.is_none() && !repo.is_cloned() {
        return Err(branch_not_found(branch));
    }
    let brought = remote::bring(repo, branch, &asked, &|_, _| {}).await;
    brought.map_err(|error| error.problem())?;
    let (branch, wanted) = (branch.clone(), wanted.cloned());
    with_store(repo, move |store| {
        let remote = asked.head.as_ref().map(object_id).transpose()?;
        let local = git::read_ref(store, &branch.local_ref())?;
        let found = match (&wanted, remote, local) {
            (Some(wanted), ..) => {
                let id = object_id(wanted)?;
                let tips = [remote, local].into_iter().flatten();
                let is_of_branch = git::has_commit(store, id)
                    && tips
                        .map(|tip| git::is_ancestor(store, id, tip))
                        .collect::<Result<Vec<_>, _>>()?
                        .contains(&true);
                if !is_of_branch {
                    return Err(commit_not_found(wanted, &branch));
                }
                id
            }
            // What was committed here and not pushed yet.
            (None, Some(remote), Some(local)) if git::is_ancestor(store, remote, local)? => local,
            (None, Some(remote), _) => remote,
            (None, None, Some(local)) => local,
            (None, None, None) => return Err(branch_not_found(&branch)),
        };
        let is_on_remote = match remote {
            Some(tip) => git::is_ancestor(store, found, tip)?,
            None => false,
        };
        Ok(PipelineCommit {
            git_ref: branch.local_ref(),
            branch,
            is_on_remote,
            is_remote_tip: remote == Some(found),
            commit: commit_id(found)?,
            tree: CommitTree::of(store, found)?.id()?,
        })
    })
    .await
}

/// The commit of a tag, a pull request or an id. What the remote has there is on no branch of it as far as secrets and protection go.
pub async fn commit_of_named(
    repo: &Arc<Repo>,
    named: NamedRef,
    wanted: Option<&CommitId>,
) -> Result<PipelineCommit, Problem> {
    let brought = refs::bring(repo, &named, &|_, _| {}).await;
    let brought = brought.map_err(|error| error.problem())?;
    let tip = brought.ok_or_else(|| branch_not_found(named.name()))?;
    let wanted = wanted.cloned();
    with_store(repo, move |store| {
        let found = wanted.as_ref().map_or(Ok(tip), object_id)?;
        if let Some(wanted) = wanted
            && !(git::has_commit(store, found) && git::is_ancestor(store, found, tip)?)
        {
            return Err(commit_not_found(&wanted, named.name()));
        }
        Ok(PipelineCommit {
            branch: named.name().clone(),
            git_ref: named.full().to_owned(),
            is_on_remote: false,
            is_remote_tip: false,
            commit: commit_id(found)?,
            tree: CommitTree::of(store, found)?.id()?,
        })
    })
    .await
}

/// Asks the store of a repo, where blocking is allowed.
pub(crate) async fn with_store<T: Send + 'static>(
    repo: &Arc<Repo>,
    ask: impl FnOnce(&Repository) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let repo = repo.clone();
    let asked = tokio::task::spawn_blocking(move || {
        let store = repo.open_store().map_err(|error| error.problem())?;
        ask(&store)
    });
    asked
        .await
        .map_err(|error| Problem::new(ErrorKind::Internal, "look_failed", error.to_string()))?
}

/// The files of the branch's workspace as a commit, with what is not committed. Who works there goes on.
pub(crate) async fn snapshot(
    pipelines: &Pipelines,
    repo: &Arc<Repo>,
    branch: &BranchName,
    id: PipelineId,
) -> Result<PipelineCommit, Problem> {
    let workspace = pipelines.inner().workspaces.look_at(repo, branch);
    let made = snapshot::snapshot(&workspace, id).await;
    let made = made.map_err(|error| pipelines.inner().margin.judge(error.problem()))?;
    let branch = branch.clone();
    with_store(repo, move |store| {
        Ok(PipelineCommit {
            git_ref: branch.local_ref(),
            branch,
            is_on_remote: false,
            is_remote_tip: false,
            commit: commit_id(made)?,
            tree: CommitTree::of(store, made)?.id()?,
        })
    })
    .await
}

/// Lets go of snapshots of which there is no pipeline any more. Blocks.
pub(crate) fn forget_snapshots(pipelines: &Pipelines, now: Timestamp) {
    // One that is younger may be about to have its pipeline.
    let horizon = now.checked_sub(SETTLED).unwrap_or(Timestamp::MIN);
    for repo in pipelines.inner().repos.list() {
        let Ok(store) = repo.open_store() else {
            continue;
        };
        let is_known = |id: &PipelineId| pipelines.inner().known.read().contains_key(id);
        let gone = git::snapshots(&store).unwrap_or_default();
        for id in gone
            .iter()
            .filter(|id| !is_known(id) && id.made_at() < horizon)
        {
            if let Err(error) = git::forget_snapshot(&store, *id) {
                tracing::warn!(pipeline = %id, %error, "the snapshot of a pipeline stays");
            }
        }
    }
}

/// Lets go of tags, requests and commits of which there is no pipeline any more. Blocks.
pub(crate) fn forget_fetched(pipelines: &Pipelines) {
    for repo in pipelines.inner().repos.list() {
        let Ok(store) = repo.open_store() else {
            continue;
        };
        let wanted: HashSet<_> = {
            let known = pipelines.inner().known.read();
            let of_repo = known.values().filter(|entry| entry.repo == *repo.name());
            let named = of_repo.filter_map(|entry| NamedRef::of(&entry.branch));
            named.map(|named| named.kept_ref()).collect()
        };
        let kept = git::refs_under(&store, NamedRef::KEPT).unwrap_or_default();
        for name in kept.iter().filter(|name| !wanted.contains(*name)) {
            // What was fetched just now may be about to have its pipeline. An older one may be in the packed refs.
            let file = repo.store().path().join(name).metadata();
            let age = file.and_then(|file| file.modified()).map(|at| at.elapsed());
            if matches!(age, Ok(Ok(age)) if age < SETTLED.unsigned_abs()) {
                continue;
            }
            if let Err(error) = git::delete_ref(&store, name) {
                tracing::warn!(repo = %repo.name(), name, %error, "what was fetched for a pipeline stays");
            }
        }
    }
}

fn commit_not_found(commit: &CommitId, branch: &BranchName) -> Problem {
    let detail = format!("the branch {branch} has no commit {commit}");
    Problem::new(ErrorKind::NotFound, "commit_not_found", detail)
        .field("commit")
        .help("name the branch that has it; a new commit has to be pushed, or be in the workspace of its branch")
}
