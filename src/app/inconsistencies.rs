//! What is on disk against what should be, for all repos: told, or mended.

use std::sync::Arc;

use super::AuthorizedApp;
use branchyard_model::{ErrorKind, Problem, RepoName};
use branchyard_workspace::repos::{Maintained, Repo, heal, upkeep};
use branchyard_workspace::{Error, Finding, Mended, RepairScope, Workspaces, Zeal, reconcile};

/// What is amiss, and what was.
#[derive(Debug)]
pub struct Findings {
    pub now: Vec<Finding>,
    /// When the daemon started, and what it did about it.
    pub mended_at_start: Vec<Mended>,
}

/// All differences, and what is kept aside. Changes nothing.
pub async fn findings(app: &AuthorizedApp) -> Result<Findings, Problem> {
    app.principal().require_everywhere()?;
    let (workspaces, repos) = (app.yard().workspaces.clone(), app.repos());
    let state = app.yard().margin.state().to_owned();
    let looking = move || {
        let mut found = Vec::new();
        for repo in &repos {
            found.extend(reconcile::look(&workspaces, repo, &RepairScope::whole())?);
        }
        let names: Vec<_> = repos.iter().map(|repo| repo.name().clone()).collect();
        if let Some(repo) = repos.first() {
            found.extend(reconcile::look_into(repo.quarantine(), &names)?);
        }
        found.extend(reconcile::look_for_databases(&state)?);
        Ok(found)
    };
    Ok(Findings {
        now: blocking(looking).await?,
        mended_at_start: app.yard().mended_at_start.clone(),
    })
}

/// Mends all differences that can be mended.
pub async fn mend_findings(app: &AuthorizedApp) -> Result<Vec<Mended>, Problem> {
    app.principal().require_everywhere()?;
    let mut all = Vec::new();
    for repo in app.repos() {
        all.extend(mend(&app.yard().workspaces, &repo, Zeal::Thorough).await?);
        if heal::is_suspect(&repo) && repo.is_cloned() {
            let cured = heal(app, &repo).await?;
            for mended in all.iter_mut().filter(|mended| {
                mended.finding.repo.as_ref() == Some(repo.name())
                    && mended.finding.code == "objects_gone"
            }) {
                mended.done.clone_from(&cured);
            }
            // Heads and indexes that name what is lost.
            all.extend(mend(&app.yard().workspaces, &repo, Zeal::Thorough).await?);
        }
    }
    Ok(all)
}

/// Clones a damaged store anew; what was done, if anything was. It goes on to its end whatever becomes
/// of the caller.
async fn heal(app: &AuthorizedApp, repo: &Arc<Repo>) -> Result<Option<String>, Problem> {
    let repo = repo.clone();
    let healing = app.yard().tasks.spawn(async move {
        let _registry = repo.registry().lock().await;
        heal::heal(&repo, None, &|_, _| {}).await
    });
    let warning = healing.await.map_err(branchyard_git::Error::from)??;
    Ok(warning.map(|warning| warning.message))
}

/// Packs a repo's objects now.
pub async fn maintain(app: &AuthorizedApp, repo: &RepoName) -> Result<Maintained, Problem> {
    let repo = app.whole_repo(repo)?;
    if !repo.is_cloned() {
        let detail = format!("{} is not cloned yet", repo.name());
        return Err(Problem::new(ErrorKind::Conflict, "not_cloned", detail));
    }
    Ok(upkeep::maintain(&repo).await?)
}

/// What a daemon does before it serves anyone: finishes what an earlier one was killed at, and mends what
/// is certain. What cannot be mended is logged, and the daemon serves all the same. Returns what was mended.
pub async fn reconcile(workspaces: &Arc<Workspaces>, repo: &Arc<Repo>) -> Vec<Mended> {
    if let Err(error) = heal::resume_healing(repo).await {
        tracing::error!(repo = %repo.name(), %error, "a damaged store is not finished with");
    }
    match mend(workspaces, repo, Zeal::Alone).await {
        Ok(mut mended) => {
            mended.retain_mut(|mended| match &mut mended.done {
                Some(done) => {
                    done.push_str(", when the daemon started");
                    true
                }
                None => false,
            });
            mended
        }
        Err(problem) => {
            tracing::error!(repo = %repo.name(), error = %problem, "the repository cannot be looked at");
            Vec::new()
        }
    }
}

/// It goes on to its end whatever becomes of the caller, and holds the lock so long.
async fn mend(
    workspaces: &Arc<Workspaces>,
    repo: &Arc<Repo>,
    zeal: Zeal,
) -> Result<Vec<Mended>, Problem> {
    let scope = match zeal {
        Zeal::Thorough => RepairScope::whole(),
        Zeal::Alone | Zeal::Modest => RepairScope::quick(),
    };
    let (workspaces, repo) = (workspaces.clone(), repo.clone());
    let mending = tokio::spawn(async move {
        let _registry = repo.registry().lock().await;
        let mended = repo.clone();
        blocking(move || reconcile::mend(&workspaces, &mended, &scope, zeal)).await
    });
    mending.await.map_err(branchyard_git::Error::from)?
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(branchyard_git::Error::from)??)
}
