//! Starting a bisect: its ends are found and checked, and every refusal comes from here, before anything was written.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::request::BisectRequest;
use super::rounds::MOST_COMMITS;
use super::{BisectPlan, NAME};
use crate::disk::FrozenPlan;
use crate::pipelines::Pipelines;
use crate::set_up;
use crate::source::{self, PipelineCommit, with_store};
use crate::start::PlannedPipeline;
use branchyard_auth::Principal;
use branchyard_git::verbs::revision;
use branchyard_git::{
    CommitTree, ObjectId, Repository, commit_id, commits_between, is_ancestor, merge_base,
    object_id,
};
use branchyard_model::{CommitId, ErrorKind, PipelineId, PipelineSource, Problem, RepoName, Scope};
use branchyard_runs::idempotency::PipelineKey;
use branchyard_runs::{caller_command, step};
use branchyard_workflow::{EventKind, WorkflowEvent, WorkflowPlan};
use branchyard_workspace::repos::Repo;

/// How many commits are tested at the same time where the caller does not say: two rounds in one, and the machine is not
/// taken by it.
const USUAL_PARALLEL: usize = 3;

impl Pipelines {
    /// Starts a bisect. The same `key` sent again finds the same one.
    pub async fn start_bisect(
        &self,
        repo: &RepoName,
        request: BisectRequest,
        principal: &Principal,
        key: Option<&str>,
    ) -> Result<PipelineId, Problem> {
        let asked = (NAME, repo, &request);
        let new_key = match self.claim(principal, key, &asked).await? {
            Some(PipelineKey::Known(id)) => return Ok(id),
            Some(PipelineKey::New(key)) => Some(key),
            None => None,
        };
        let planned = self.plan_bisect(repo, &request, principal).await?;
        self.begin(planned, principal, new_key)
    }

    async fn plan_bisect(
        &self,
        repo: &RepoName,
        request: &BisectRequest,
        principal: &Principal,
    ) -> Result<PlannedPipeline, Problem> {
        principal.require(Scope::BuildRun)?;
        self.check_draining()?;
        request.check()?;
        let paths = request.paths()?;
        let runs = &self.inner().runs;
        let repo = self.inner().repos.get(repo)?;
        step::check_steps(runs, &repo)?;
        let branch = source::branch(&repo, request.branch.as_ref()).await?;
        principal.check(repo.name(), &branch)?;
        let command = caller_command(runs, (&repo, &branch), request.command(), principal)?;
        let newest = source::commit(&repo, &branch, None).await?;
        let (at, good) = ends(&repo, newest, request).await?;
        let ends = (&good, &at.commit);
        let commits = commits_between(repo.git(), repo.store(), ends, &paths, MOST_COMMITS);
        let commits = commits.await?.len();
        check_number(commits)?;
        let limits = &self.inner().config.limits;
        let slots = step::most_jobs(runs, &repo).min(limits.max_concurrent_runs);
        let bisect = BisectPlan {
            good,
            bad: at.commit.clone(),
            task: request.task.clone(),
            argv: command.argv,
            env: command.env,
            timeout: command.timeout,
            paths,
            parallel: request
                .parallel
                .unwrap_or(USUAL_PARALLEL)
                .clamp(1, slots.max(1)),
            commits,
            tests: BTreeMap::new(),
        };
        Ok(PlannedPipeline {
            trigger: None,
            id: PipelineId::new(),
            source: PipelineSource::Commit,
            frozen: FrozenPlan {
                setup: set_up::declared(&repo, &at.commit).await?,
                ..frozen(&at, bisect, principal)
            },
            at,
            warnings: Vec::new(),
            repo,
        })
    }
}

/// Its jobs come with its rounds.
fn frozen(at: &PipelineCommit, bisect: BisectPlan, principal: &Principal) -> FrozenPlan {
    // No file is read for it, and no step sees of which event it is.
    let event = EventKind::WorkflowDispatch;
    FrozenPlan {
        text: String::new(),
        actions: BTreeMap::new(),
        event: WorkflowEvent::new(event, at.branch.local_ref()),
        plan: WorkflowPlan {
            file: NAME.to_owned(),
            name: NAME.to_owned(),
            run_name: None,
            event,
            contexts: BTreeMap::new(),
            env: BTreeMap::new(),
            concurrency: None,
            jobs: Vec::new(),
        },
        account: principal.account().to_owned(),
        is_protected: false,
        is_remote_tip: false,
        sees_all: false,
        setup: None,
        bisect: Some(bisect),
    }
}

/// The bad end, which is of the branch, and the good one, which it has in its history.
async fn ends(
    repo: &Arc<Repo>,
    newest: PipelineCommit,
    request: &BisectRequest,
) -> Result<(PipelineCommit, CommitId), Problem> {
    let (good, bad) = (request.good.clone(), request.bad.clone());
    with_store(repo, move |store| {
        let tip = object_id(&newest.commit)?;
        let good = revision::commit_id(store, "good", &good)?;
        let bad = match bad {
            Some(bad) => revision::commit_id(store, "bad", &bad)?,
            None => tip,
        };
        if !is_ancestor(store, bad, tip)? {
            let detail = format!("the branch {} has no commit {bad}", newest.branch);
            return Err(refused("bad", detail).help(
                "name the branch that has it; it is the newest commit if `bad` is left out",
            ));
        }
        check_order(store, good, bad)?;
        let at = PipelineCommit {
            commit: commit_id(bad)?,
            tree: CommitTree::of(store, bad)?.id()?,
            ..newest
        };
        Ok((at, commit_id(good)?))
    })
    .await
}

/// Where the good end is no ancestor of the bad one, what made it bad may as well have been mended on the way to the good one.
/// Git tests the commit where the two parted first; here the caller names it.
fn check_order(store: &Repository, good: ObjectId, bad: ObjectId) -> Result<(), Problem> {
    if good == bad {
        let detail = format!("`good` and `bad` are the same commit: {good}");
        return Err(refused("good", detail).help("name an older commit, at which all was well"));
    }
    if is_ancestor(store, good, bad)? {
        return Ok(());
    }
    if is_ancestor(store, bad, good)? {
        let detail = format!("`good` ({good}) comes after `bad` ({bad})");
        return Err(refused("good", detail)
            .help("the commits are the wrong way round; to look for the one that mended it, swap what the command's exit codes mean"));
    }
    Err(match merge_base(store, good, bad)? {
        Some(base) => {
            let detail = format!(
                "`good` ({good}) is not in the history of `bad` ({bad}): they parted at {base}"
            );
            refused("good", detail).help(format!("if {base} is good, name that as `good`"))
        }
        None => {
            let detail = format!("`good` ({good}) and `bad` ({bad}) have no history in common");
            refused("good", detail).help("name a commit of the branch, at which all was well")
        }
    })
}

fn check_number(commits: usize) -> Result<(), Problem> {
    match commits {
        0 => {
            let detail = "no commit between `good` and `bad` changes one of the paths";
            Err(refused("paths", detail).help("leave paths out, or name more"))
        }
        commits if commits > MOST_COMMITS => {
            let detail =
                format!("there are more than {MOST_COMMITS} commits between `good` and `bad`");
            Err(refused("good", detail).help("name a later good commit, or `paths`"))
        }
        _ => Ok(()),
    }
}

fn refused(field: &str, detail: impl Into<String>) -> Problem {
    Problem::new(ErrorKind::Unprocessable, "bisect_refused", detail).field(field)
}
