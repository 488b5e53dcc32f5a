//! One look at what a remote has: each move of a branch or tag, and each pull request that was told of, starts what there is
//! for it. What could not be started for want of something that passes is new again at the next look.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::task::JoinSet;

use crate::event;
use crate::pulls::PullHint;
use crate::push_rules;
use crate::reason::Reason;
use crate::repo_watch::RepoWatch;
use crate::seen::{RefMove, SeenPull, SeenRefs};
use branchyard_config::{ForkPulls, crash_point};
use branchyard_git as git;
use branchyard_model::{BranchName, CommitId, ErrorKind, NamedRef, PipelineId, Problem};
use branchyard_pipelines::{PipelineCommit, Trigger, find_commit, find_named, start_for};
use branchyard_workspace::repos::{Repo, remote};

/// So many refs are brought and read at the same time: those that move together are fetched together.
const AT_ONCE: usize = 16;

/// What came of a look.
#[derive(Debug, Default)]
pub(crate) struct LookResult {
    /// The commit of the default branch.
    pub(crate) default: Option<(BranchName, CommitId)>,
    /// Whether something is still to be started.
    pub(crate) is_unfinished: bool,
}

/// Asks the remote, starts what is new, and has `seen` say so. Of a pull request that is not there yet, or is as it was, the
/// forge may have told before it wrote it: it is looked at again for a while.
pub(crate) async fn look(
    watch: &Arc<RepoWatch>,
    reason: Reason,
    seen: &mut Option<SeenRefs>,
) -> Result<LookResult, Problem> {
    let repo = watch.repo()?;
    let listing = remote::branches_and_tags(&repo).await?;
    repo.learn_default().await?;
    let mut result = LookResult {
        default: default_head(&repo, &listing)?,
        is_unfinished: false,
    };
    let is_first = seen.is_none();
    let mut known = seen.clone().unwrap_or_default();
    let moves = known.compare(&listing);
    if is_first {
        // What was there before anybody asked for this is not news.
        for there in moves {
            known.settle(there);
        }
    } else {
        for some in moves.chunks(AT_ONCE) {
            result.is_unfinished |= !start_all(watch, &repo, reason, some, &mut known).await;
        }
    }
    let hints = watch.pulls().all();
    for (git_ref, hint) in &hints {
        result.is_unfinished |= !follow(watch, &repo, (git_ref, hint), &mut known).await;
    }
    crash_point("triggered");
    if seen.as_ref() != Some(&known) {
        watch.save(&known)?;
        *seen = Some(known);
    }
    Ok(result)
}

fn default_head(
    repo: &Repo,
    listing: &HashMap<String, CommitId>,
) -> Result<Option<(BranchName, CommitId)>, Problem> {
    let Some(name) = repo.default_branch() else {
        return Ok(None);
    };
    let branch = BranchName::parse(&name)?;
    let head = listing.get(&branch.local_ref()).cloned();
    Ok(head.map(|head| (branch, head)))
}

/// Whether all of these are done with.
async fn start_all(
    watch: &Arc<RepoWatch>,
    repo: &Arc<Repo>,
    reason: Reason,
    moves: &[RefMove],
    known: &mut SeenRefs,
) -> bool {
    let mut at_once = JoinSet::new();
    for moved in moves.iter().cloned() {
        let (watch, repo) = (watch.clone(), repo.clone());
        at_once.spawn(async move {
            let started = start_move(&watch, &repo, reason, &moved).await;
            (moved, started)
        });
    }
    let mut are_done = true;
    // One that panics is new again at the next look.
    while let Some(ended) = at_once.join_next().await {
        match ended {
            Ok((moved, started)) => match is_settled(repo, &moved.git_ref, started) {
                true => known.settle(moved),
                false => are_done = false,
            },
            Err(error) => {
                tracing::error!(%error, "what a push starts could not be found out");
                are_done = false;
            }
        }
    }
    are_done
}

/// Whether nothing is to be done for it any more.
fn is_settled(repo: &Repo, git_ref: &str, started: Result<Vec<PipelineId>, Problem>) -> bool {
    match started {
        Ok(started) => {
            for pipeline in started {
                tracing::info!(repo = %repo.name(), git_ref, %pipeline, "a pipeline for what is new");
            }
            true
        }
        Err(problem) if problem.may_pass() => {
            tracing::warn!(repo = %repo.name(), git_ref, %problem, "what is new starts nothing yet; it is tried again");
            false
        }
        Err(problem) => {
            tracing::warn!(repo = %repo.name(), git_ref, %problem, "what is new starts nothing");
            true
        }
    }
}

async fn start_move(
    watch: &RepoWatch,
    repo: &Arc<Repo>,
    reason: Reason,
    moved: &RefMove,
) -> Result<Vec<PipelineId>, Problem> {
    let Some((at, is_branch)) = place_of(repo, moved).await? else {
        return Ok(Vec::new());
    };
    let (this, place, change) = (repo.clone(), at.clone(), moved.clone());
    let event = blocking(move || match event::is_skipped(&this, &place)? {
        true => Ok(None),
        false => event::of_move(&this, &place, &change).map(Some),
    });
    let Some(event) = event.await? else {
        tracing::info!(repo = %repo.name(), branch = %at.branch, commit = %at.commit, "the message of the commit asks to start nothing");
        return Ok(Vec::new());
    };
    let principal = reason.principal(repo.name());
    let runs = match is_branch {
        true => start_runs(watch, repo, (&at.branch, moved)).await,
        false => Ok(()),
    };
    let before = moved.before.as_ref().map_or("", CommitId::as_str);
    let trigger = Trigger {
        key: format!("{before}\0{}", moved.nth),
        at,
        event,
        file: None,
    };
    // A run that cannot be started yet keeps no pipeline from it.
    let started = start_for(watch.pipelines(), repo, &trigger, &principal).await?;
    runs.map(|()| started)
}

async fn start_runs(
    watch: &RepoWatch,
    repo: &Repo,
    pushed: (&BranchName, &RefMove),
) -> Result<(), Problem> {
    match push_rules::start(watch, repo, pushed).await {
        Err(problem) if !problem.may_pass() => {
            tracing::warn!(repo = %repo.name(), branch = %pushed.0, %problem, "a push does not start its run");
            Ok(())
        }
        started => started,
    }
}

/// The commit that a ref moved to, brought here, and whether it is a branch; none of refs that are not built.
async fn place_of(
    repo: &Arc<Repo>,
    moved: &RefMove,
) -> Result<Option<(PipelineCommit, bool)>, Problem> {
    if let Some(name) = moved.git_ref.strip_prefix("refs/heads/") {
        // Such as one that looks like a commit's id.
        let Ok(branch) = BranchName::parse(name) else {
            return Ok(None);
        };
        let found = find_commit(repo, &branch, Some(&moved.after)).await;
        return match found {
            // Secrets are for the newest commit alone.
            Ok(at) if !at.is_remote_tip => Err(moved_on(&branch)),
            Ok(at) => Ok(Some((at, true))),
            // It has gone on since it was seen there: the next look sees where.
            Err(problem) if problem.kind == ErrorKind::NotFound => Err(moved_on(&branch)),
            Err(problem) => Err(problem),
        };
    }
    let Ok(named) = NamedRef::of_full(&moved.git_ref) else {
        return Ok(None);
    };
    let kept = named.kept_ref();
    match find_named(repo, named, None).await {
        Ok(at) if is_at(repo, kept, &moved.after).await? => Ok(Some((at, false))),
        Ok(at) => Err(moved_on(&at.branch)),
        // It is gone, or is no commit's.
        Err(problem) if problem.kind == ErrorKind::NotFound => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Whether a ref of the store is where the remote was seen to have it.
async fn is_at(repo: &Arc<Repo>, name: String, at: &CommitId) -> Result<bool, Problem> {
    let (repo, at) = (repo.clone(), at.clone());
    blocking(move || {
        let store = repo.open_store().map_err(|error| error.problem())?;
        let found = git::read_ref(&store, &name)?;
        Ok(found.is_some_and(|found| found.to_string() == at.as_str()))
    })
    .await
}

/// Whether a pull request that was told of is done with.
async fn follow(
    watch: &Arc<RepoWatch>,
    repo: &Arc<Repo>,
    (git_ref, hint): (&str, &PullHint),
    known: &mut SeenRefs,
) -> bool {
    let started = start_pull(watch, repo, (git_ref, hint), known).await;
    let has_started = started.as_ref().is_ok_and(|started| !started.is_empty());
    let is_done = is_settled(repo, git_ref, started);
    if is_done {
        watch.pulls().settle((git_ref, hint), has_started);
    }
    is_done
}

async fn start_pull(
    watch: &Arc<RepoWatch>,
    repo: &Arc<Repo>,
    (git_ref, hint): (&str, &PullHint),
    known: &mut SeenRefs,
) -> Result<Vec<PipelineId>, Problem> {
    let named = NamedRef::of_full(git_ref)?;
    let base = BranchName::parse(&hint.base)?;
    let at = match find_named(repo, named, None).await {
        Err(problem) if problem.kind == ErrorKind::NotFound => {
            known.forget_pull(git_ref);
            return Ok(Vec::new());
        }
        found => found?,
    };
    let earlier = known.pull(git_ref);
    if earlier.is_some_and(|seen| seen.commit == at.commit && seen.base == hint.base) {
        return Ok(Vec::new());
    }
    let is_new = earlier.is_none();
    // What a forge says can be said again by others; that the commit is another cannot.
    let moves = earlier.map_or(0, |seen| seen.moves + u64::from(seen.commit != at.commit));
    let pull = SeenPull {
        commit: at.commit.clone(),
        base: hint.base.clone(),
        moves,
    };
    let may_run = repo.config().pipelines.forks == ForkPulls::Run;
    if !may_run && !is_of_own_branch(repo, &hint.head, &at).await? {
        tracing::info!(repo = %repo.name(), git_ref, "a pull request from a fork starts nothing");
        return Ok(Vec::new());
    }
    let base = find_commit(repo, &base, None).await?;
    let (this, place, told) = (repo.clone(), at.clone(), hint.clone());
    let event = blocking(move || match event::is_skipped(&this, &place)? {
        true => Ok(None),
        false => event::of_pull(&this, &place, &base, (&told, is_new)).map(Some),
    });
    let mut started = Vec::new();
    if let Some(event) = event.await? {
        let trigger = Trigger {
            key: format!("{}\0{moves}", hint.base),
            at,
            event,
            file: None,
        };
        let principal = Reason::Hook.principal(repo.name());
        started = start_for(watch.pipelines(), repo, &trigger, &principal).await?;
    }
    known.settle_pull(git_ref, pull);
    Ok(started)
}

/// Whether the remote has the commit on the branch that the request says it comes from. What a forge says of forks does not
/// count: a request that was told of long ago can be told of again.
async fn is_of_own_branch(
    repo: &Arc<Repo>,
    head: &str,
    at: &PipelineCommit,
) -> Result<bool, Problem> {
    let Ok(head) = BranchName::parse(head) else {
        return Ok(false);
    };
    match find_commit(repo, &head, Some(&at.commit)).await {
        Ok(found) => Ok(found.is_on_remote),
        Err(problem) if problem.kind == ErrorKind::NotFound => Ok(false),
        Err(problem) => Err(problem),
    }
}

fn moved_on(branch: &BranchName) -> Problem {
    let detail = format!("the branch {branch} has moved on since the remote was asked");
    Problem::new(ErrorKind::Unavailable, "ref_moved", detail)
}

/// Asks the store where blocking is allowed.
pub(crate) async fn blocking<T: Send + 'static>(
    ask: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    tokio::task::spawn_blocking(ask)
        .await
        .map_err(|error| Problem::new(ErrorKind::Internal, "look_failed", error.to_string()))?
}
