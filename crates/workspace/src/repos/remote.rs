//! What the remote of a repository has: asked for and fetched once for all who want it together.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::RepoError;
use super::answers::{Answers, Asked, Failures, HeadKind};
use super::blocking::blocking;
use super::refs;
use super::repo::{Progress, Repo};
use branchyard_git as git;
use branchyard_model::{BranchName, CommitId, ErrorKind, NamedRef, Phase, Problem};
use branchyard_runtime::single_flight::Reporter;
use branchyard_runtime::yard_events::RepoChange;

/// What the remote has for `branch`, asked no earlier than `not_before`. Needs no clone.
pub async fn ask(
    this: &Arc<Repo>,
    branch: &BranchName,
    not_before: Instant,
) -> Result<Asked, RepoError> {
    if let Some(named) = NamedRef::of(branch)
        && let Some(commit) = named.commit()
    {
        return ask_for_commit(this, &named, commit).await;
    }
    if let Some(asked) = this
        .answers()
        .of(branch)
        .filter(|asked| asked.began >= not_before)
    {
        return Ok(asked.for_one(branch)?);
    }
    let repo = this.clone();
    let answers = this
        .asks()
        .run(
            branch.clone(),
            |_| {},
            move |branches, _| {
                let repo = repo.clone();
                async move { ask_all(&repo, branches).await }
            },
        )
        .await
        .ok_or(RepoError::Abandoned)??;
    let asked = answers
        .iter()
        .find_map(|(name, asked)| (name == branch).then(|| asked.clone()))
        .ok_or(RepoError::Abandoned)?;
    Ok(asked.for_one(branch)?)
}

/// As [`ask`], for bringing a workspace up to date: it may have been asked as long ago as the operator
/// lets it (`git.freshness`), if it had the branch then.
pub async fn ask_lately(
    repo: &Arc<Repo>,
    branch: &BranchName,
    not_before: Instant,
) -> Result<Asked, RepoError> {
    let lately = not_before.checked_sub(repo.git().settings().freshness);
    let is_fresh =
        |asked: &Asked| asked.head.is_some() && lately.is_some_and(|lately| asked.began >= lately);
    match repo.answers().of(branch).filter(is_fresh) {
        Some(asked) => Ok(asked),
        None => ask(repo, branch, not_before).await,
    }
}

/// Makes sure that the store has what the remote said, and that its refs say the same.
pub async fn bring(
    this: &Arc<Repo>,
    branch: &BranchName,
    asked: &Asked,
    progress: Progress<'_>,
) -> Result<(), RepoError> {
    this.ensure_store(progress).await?;
    if is_current(this, branch, asked).await? {
        return Ok(());
    }
    let repo = this.clone();
    progress(Phase::Fetch, None);
    if let Some(named) = asked.named(branch) {
        bring_as_branch(this, &named, progress).await?;
        repo.tell(RepoChange::Fetched);
        return Ok(());
    }
    let work = move |branches: Vec<BranchName>, reporter: Reporter<_>| {
        let repo = repo.clone();
        async move {
            let progress = |percent| reporter.percent(percent);
            let fetched = fetch_all(&repo, &branches, progress).await;
            if fetched.is_ok() {
                repo.tell(RepoChange::Fetched);
            }
            fetched
        }
    };
    let failures = this
        .fetches()
        .run(
            branch.clone(),
            |percent| progress(Phase::Fetch, Some(percent)),
            work,
        )
        .await
        .ok_or(RepoError::Abandoned)??;
    match failures.iter().find(|(failed, _)| failed == branch) {
        Some((_, error)) => Err(RepoError::Git(error.clone())),
        None => Ok(()),
    }
}

/// A commit is not asked for with others: they are not to wait until it is fetched, which is what it takes to know of it.
async fn ask_for_commit(
    repo: &Arc<Repo>,
    named: &NamedRef,
    commit: CommitId,
) -> Result<Asked, RepoError> {
    let began = Instant::now();
    let found = refs::bring(repo, named, &|_, _| {}).await?;
    // The id of a tag leads to a commit, and is none.
    let is_it = found.is_some_and(|found| found.to_string() == commit.as_str());
    Ok(Asked {
        head: is_it.then_some(commit),
        at: Timestamp::now(),
        kind: HeadKind::Named,
        began,
    })
}

/// Brings what is no branch here, and has it be what the remote has for a branch of that name.
async fn bring_as_branch(
    this: &Arc<Repo>,
    named: &NamedRef,
    progress: Progress<'_>,
) -> Result<(), RepoError> {
    let brought = refs::bring(this, named, progress).await?;
    let commit = brought.ok_or_else(|| {
        let detail = format!("{} of the remote leads to no commit", named.full());
        Problem::new(ErrorKind::NotFound, "commit_not_found", detail).field("branch")
    })?;
    let (repo, branch) = (this.clone(), named.name().clone());
    let beside = blocking(move || {
        let store = repo.open_store()?;
        Ok(git::colliding_refs(
            &store,
            "refs/remotes/origin/",
            &branch,
        )?)
    });
    let beside = beside.await?;
    let branches = beside.iter().filter(|other| NamedRef::of(other).is_none());
    let there = heads_of(this, branches.map(BranchName::local_ref).collect()).await?;
    if let Some(other) = there.keys().next() {
        let (branch, other) = (named.name(), other.trim_start_matches("refs/heads/"));
        let detail = format!("{branch} cannot be here beside the branch {other} of the remote");
        let problem = Problem::new(ErrorKind::Conflict, "branch_collides", detail);
        return Err(problem.field("branch").into());
    }
    let (repo, branch) = (this.clone(), named.name().clone());
    blocking(move || {
        let store = repo.open_store()?;
        for gone in beside {
            git::delete_ref(&store, &gone.remote_ref())?;
        }
        Ok(git::keep(&store, &branch.remote_ref(), commit)?)
    })
    .await
}

/// Where the remote has nothing of what it was asked for, it may have given no answer at all: over HTTP git takes a page that
/// is no list of refs for a list of none. Then there is nothing else either, though there was once.
async fn check_answered(repo: &Arc<Repo>) -> Result<(), RepoError> {
    let url = repo.config().url.as_str();
    if !url.starts_with("http") || !repo.is_cloned() {
        return Ok(());
    }
    let this = repo.clone();
    let known = blocking(move || Ok(git::remote_branches(&this.open_store()?)?)).await?;
    let is_silent = || git::remote_branches_and_tags(repo.git(), url);
    if !known.is_empty() && is_silent().await?.is_empty() {
        return Err(git::Error::nothing_listed().into());
    }
    Ok(())
}

async fn ask_all(repo: &Arc<Repo>, branches: Vec<BranchName>) -> Result<Answers, RepoError> {
    let began = Instant::now();
    let named: Vec<_> = branches.iter().filter_map(NamedRef::of).collect();
    let plain = branches
        .iter()
        .filter(|branch| NamedRef::of(branch).is_none());
    let mut heads = heads_of(repo, plain.map(BranchName::local_ref).collect()).await?;
    let mut tips = refs::tips(repo, &named).await?;
    if tips.values().any(|(_, head)| head.is_none()) {
        check_answered(repo).await?;
    }
    let at = Timestamp::now();
    let answers: Vec<_> = branches
        .into_iter()
        .map(|branch| {
            let of_branch = || (HeadKind::Branch, heads.remove(&branch.local_ref()));
            let (kind, head) = tips.remove(&branch).unwrap_or_else(of_branch);
            let asked = Asked {
                head,
                at,
                kind,
                began,
            };
            (branch, asked)
        })
        .collect();
    repo.answers().remember(&answers);
    Ok(Arc::new(answers))
}

/// The commits that the remote has under exactly these full refs of branches, by full ref.
async fn heads_of(
    repo: &Arc<Repo>,
    refs: Vec<String>,
) -> Result<HashMap<String, CommitId>, RepoError> {
    if refs.is_empty() {
        return Ok(HashMap::new());
    }
    match neighbour_heads(repo, refs.clone()).await {
        Some(heads) => Ok(heads),
        None => remote_heads(repo, refs).await,
    }
}

/// The commits that the remote has under exactly these full refs, by full ref; all its branches if none are given.
///
/// Over HTTP git takes a page that is no list of refs (of a host in maintenance, of a network that wants one to log
/// in) for a list of none. So where some of these were there, an answer without any is not believed, unless there
/// are other branches.
pub async fn remote_heads(
    repo: &Arc<Repo>,
    refs: Vec<String>,
) -> Result<HashMap<String, CommitId>, RepoError> {
    let url = repo.config().url.as_str();
    let heads = git::remote_heads(repo.git(), url, &refs).await?;
    let is_doubtful = heads.is_empty() && url.starts_with("http") && repo.is_cloned();
    if is_doubtful && knew_any(repo, refs.clone()).await? {
        let has_others =
            !refs.is_empty() && !git::remote_heads(repo.git(), url, &[]).await?.is_empty();
        if !has_others {
            return Err(git::Error::nothing_listed().into());
        }
    }
    Ok(heads)
}

/// All branches of the remote whose names can be used, as they were at most `age` ago: who goes through a long list
/// page by page asks the remote once.
pub async fn all_branches(
    repo: &Arc<Repo>,
    age: Duration,
) -> Result<Arc<BTreeMap<BranchName, CommitId>>, RepoError> {
    let known = repo.listing().lock().clone();
    if let Some((_, listing)) = known.filter(|(at, _)| at.elapsed() < age) {
        return Ok(listing);
    }
    let began = Instant::now();
    let heads = remote_heads(repo, Vec::new()).await?.into_iter();
    let branches = heads.filter_map(|(name, commit)| {
        let branch = BranchName::parse(name.strip_prefix("refs/heads/")?).ok()?;
        Some((branch, commit))
    });
    let listing: Arc<BTreeMap<_, _>> = Arc::new(branches.collect());
    *repo.listing().lock() = Some((began, listing.clone()));
    Ok(listing)
}

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

/// Whether the remote has tags, of which a list of its branches says nothing.
pub async fn has_tags(repo: &Arc<Repo>) -> Result<bool, RepoError> {
    Ok(git::has_remote_tags(repo.git(), repo.config().url.as_str()).await?)
}

/// Whether the remote is known to have had any of these branches, or any at all if none are given.
async fn knew_any(this: &Arc<Repo>, refs: Vec<String>) -> Result<bool, RepoError> {
    let repo = this.clone();
    blocking(move || {
        let known = git::remote_branches(&repo.open_store()?)?;
        // What stands for a tag or a request is no branch of it.
        let mut known = known.iter().filter(|name| NamedRef::of(name).is_none());
        let is_meant = |branch: &BranchName| refs.contains(&branch.local_ref());
        Ok(known.any(|branch| refs.is_empty() || is_meant(branch)))
    })
    .await
}

/// What a remote on this machine has, where that can be had without a process. A disk that hangs is left
/// to the process, which can be ended.
async fn neighbour_heads(repo: &Repo, refs: Vec<String>) -> Option<HashMap<String, CommitId>> {
    if !repo.config().url.is_local() {
        return None;
    }
    let url = repo.config().url.as_str().to_owned();
    let looking = tokio::task::spawn_blocking(move || git::neighbour_heads(&url, &refs));
    let timeouts = repo.git().settings().remote_timeout;
    let looked = tokio::time::timeout(timeouts, looking).await;
    looked.ok()?.ok()?
}

/// Compares the store's remote-tracking ref with the answer; a branch that is gone loses its ref.
async fn is_current(
    this: &Arc<Repo>,
    branch: &BranchName,
    asked: &Asked,
) -> Result<bool, RepoError> {
    let (repo, name, head) = (this.clone(), branch.remote_ref(), asked.head.clone());
    blocking(move || {
        let store = repo.open_store()?;
        let Some(head) = head else {
            git::delete_ref(&store, &name)?;
            return Ok(true);
        };
        Ok(git::read_ref(&store, &name)?.is_some_and(|id| id.to_string() == head.as_str()))
    })
    .await
}

async fn fetch_all(
    this: &Arc<Repo>,
    branches: &[BranchName],
    on_percent: impl Fn(u8) + Send + Sync,
) -> Result<Failures, RepoError> {
    let _network = this.network().lock().await;
    this.guard_store()?;
    let (repo, wanted) = (this.clone(), branches.to_vec());
    blocking(move || {
        let store = repo.open_store()?;
        for branch in &wanted {
            // The remote has `branch`, so it cannot have any of these beside it: they are gone there.
            for gone in git::colliding_refs(&store, "refs/remotes/origin/", branch)? {
                git::delete_ref(&store, &gone.remote_ref())?;
            }
        }
        Ok(())
    })
    .await?;
    let mut failures = Vec::new();
    let mut fetched = git::fetch(this.git(), this.store(), branches, &on_percent).await;
    if fetched.is_err() && this.clear_stale_locks(branches).await? {
        fetched = git::fetch(this.git(), this.store(), branches, &on_percent).await;
    }
    if let Err(error) = fetched {
        let full = error.is_disk_full();
        if full {
            let repo = this.clone();
            blocking(move || Ok(git::clear_half_fetched(repo.store(), repo.home())?)).await?;
        }
        let for_all = error
            .failure()
            .is_some_and(|failure| !failure.may_spare_others());
        if full || for_all || branches.len() == 1 {
            return Err(error.into());
        }
        // One branch that vanished in between must not fail the others.
        tracing::debug!(repo = %this.name(), %error, "fetching one by one");
        for branch in branches {
            let one = std::slice::from_ref(branch);
            if let Err(error) = git::fetch(this.git(), this.store(), one, &on_percent).await {
                failures.push((branch.clone(), Arc::new(error)));
            }
        }
    }
    Ok(Arc::new(failures))
}
