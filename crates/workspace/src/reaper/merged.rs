//! Branches of agents whose commits the default branch has: they go, if the operator wants that, by the
//! same rules as any workspace, and on the remote only while it has exactly what was merged.

use std::sync::Arc;
use std::time::Instant;

use super::Reaper;
use super::report::{MergedBranch, Outcome};
use crate::reaper::act;
use crate::repos::Repo;
use crate::repos::remote;
use crate::{AgentBranch, Error, verbs};
use branchyard_config::MergedAgentBranches;
use branchyard_git::{self as git, Error as GitError, Repository};
use branchyard_model::{BranchName, CommitId, RepoName};

/// Deletes merged branches of agents, or says which would go.
pub(super) async fn delete_merged(
    reaper: &Reaper,
    dry_run: bool,
    only: Option<&RepoName>,
) -> Vec<MergedBranch> {
    let mut merged = Vec::new();
    if reaper.config.merged_agent_branches == MergedAgentBranches::Keep {
        return merged;
    }
    for repo in reaper.repos.list() {
        if !repo.is_cloned() || only.is_some_and(|only| *repo.name() != *only) {
            continue;
        }
        match merged_of(reaper, &repo).await {
            Ok(found) => merged.extend(found),
            Err(error) => {
                tracing::warn!(repo = %repo.name(), %error, "merged branches cannot be looked for");
            }
        }
    }
    if !dry_run {
        for found in &mut merged {
            found.outcome = Some(delete(reaper, found).await);
        }
    }
    merged
}

async fn merged_of(reaper: &Reaper, repo: &Arc<Repo>) -> Result<Vec<MergedBranch>, Error> {
    let branches = reaper.workspaces.agents().all(repo.name())?;
    let default = repo.default_branch().map(|name| BranchName::parse(&name));
    let (false, Some(Ok(default))) = (branches.is_empty(), default) else {
        return Ok(Vec::new());
    };
    let asked = remote::ask(repo, &default, Instant::now()).await?;
    remote::bring(repo, &default, &asked, &|_, _| {}).await?;
    let Some(head) = asked.head else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    for known in branches {
        // The store must know what the remote has, or it could be more than was merged.
        let asked = remote::ask(repo, &known.branch, Instant::now()).await?;
        remote::bring(repo, &known.branch, &asked, &|_, _| {}).await?;
        let (repo_here, head) = (repo.clone(), head.clone());
        let (branch, tip) = (known.branch.clone(), asked.head);
        let merged =
            tokio::task::spawn_blocking(move || merged_as(&repo_here.open_store()?, &known, &head));
        if let Some(what) = merged.await.map_err(GitError::from)?? {
            found.push(MergedBranch {
                repo: repo.name().clone(),
                branch,
                why: format!("{default} has all its {what}"),
                remote: tip.is_some()
                    && reaper.config.merged_agent_branches == MergedAgentBranches::Remote,
                tip,
                outcome: None,
            });
        }
    }
    Ok(found)
}

async fn delete(reaper: &Reaper, merged: &MergedBranch) -> Outcome {
    let done = try_delete(reaper, merged).await;
    let outcome = Outcome::of(done);
    match &outcome {
        Outcome::Done { .. } => {
            tracing::info!(repo = %merged.repo, branch = %merged.branch, remote = merged.remote, "a merged branch was deleted");
            metrics::counter!("branchyard_merged_branches_deleted_total").increment(1);
            reaper.record("reap.branch", &merged.repo, Some(&merged.branch), 1);
        }
        Outcome::Kept { why } => {
            tracing::info!(repo = %merged.repo, branch = %merged.branch, why, "a merged branch stays");
        }
    }
    outcome
}

async fn try_delete(reaper: &Reaper, merged: &MergedBranch) -> Result<Outcome, Error> {
    let repo = reaper.repos.get(&merged.repo)?;
    let workspace = reaper.workspaces.look_at(&repo, &merged.branch);
    let mut bytes = 0;
    if workspace.exists() {
        let Some(record) = workspace.record() else {
            let why = "its record cannot be read".to_owned();
            return Ok(Outcome::Kept { why });
        };
        match act::reap(&workspace, &record).await {
            Outcome::Done { bytes: freed } => bytes = freed,
            kept @ Outcome::Kept { .. } => return Ok(kept),
        }
    }
    if let (true, Some(looked_at)) = (merged.remote, &merged.tip) {
        // Somebody may have pushed since, through the yard too: only what was looked at may go.
        verbs::delete_on_remote(&workspace, looked_at).await?;
    }
    reaper
        .workspaces
        .agents()
        .forget(&merged.repo, &merged.branch)?;
    Ok(Outcome::Done { bytes })
}

/// What `head` has all of, of a branch that had commits of its own: those, or what they changed, as after they were joined
/// into one commit there. None if it lacks some. Blocks.
fn merged_as(
    store: &Repository,
    known: &AgentBranch,
    head: &CommitId,
) -> Result<Option<&'static str>, Error> {
    let head = git::object_id(head)?;
    let tips = [known.branch.local_ref(), known.branch.remote_ref()];
    let (mut has_own, mut found) = (false, None);
    for name in tips {
        let Some(tip) = git::read_ref(store, &name)? else {
            continue;
        };
        has_own |= tip.to_string() != known.start.as_str();
        if git::is_ancestor(store, tip, head)? {
            found.get_or_insert("commits");
        } else if git::has_changes_of(store, head, tip)? {
            found = Some("changes");
        } else {
            return Ok(None);
        }
    }
    Ok(found.filter(|_| has_own))
}
