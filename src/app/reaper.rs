//! Making room, and keeping what somebody wants kept.

use jiff::Timestamp;

use super::AuthorizedApp;
use crate::app::branches;
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName};
use branchyard_workspace::{Description, Pin, Reaped, Reaping, pin};

/// Enough for a sentence or two; it is shown in lists.
const LONGEST_REASON: usize = 500;

/// What the reaper would do or, without `dry_run`, does now, in all repos or in one.
pub async fn reap(
    app: &AuthorizedApp,
    dry_run: bool,
    only: Option<RepoName>,
) -> Result<Reaping, Problem> {
    match &only {
        Some(repo) => drop(app.whole_repo(repo)?),
        None => app.principal().require_everywhere()?,
    }
    app.yard().reaper.reap(dry_run, only).await.ok_or_else(|| {
        let detail = "the pass of the reaper came to no end";
        Problem::new(ErrorKind::Internal, "reaper_failed", detail)
    })
}

/// What the reaper did of late, and when it will look again.
pub fn reaped(app: &AuthorizedApp) -> Result<(Vec<Reaped>, Option<Timestamp>), Problem> {
    app.principal().require_everywhere()?;
    Ok(app.yard().reaper.recent())
}

/// Keeps a workspace from being reaped or removed.
pub async fn pin(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    reason: Option<String>,
) -> Result<Description, Problem> {
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    if reason.as_ref().is_some_and(|it| it.len() > LONGEST_REASON) {
        let rule = format!("a reason has at most {LONGEST_REASON} bytes");
        return Err(Problem::unprocessable("reason", rule));
    }
    let pin = Pin {
        by: app.by(),
        reason,
        at: Timestamp::now(),
    };
    set_pin(app, repo, branch, Some(pin)).await?;
    branches::describe(app, repo, branch).await
}

/// Lets a pinned workspace go by the usual rules again.
pub async fn unpin(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
) -> Result<(), Problem> {
    set_pin(app, repo, branch, None).await
}

async fn set_pin(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    pin: Option<Pin>,
) -> Result<(), Problem> {
    Ok(pin::set_pin(&app.workspace(repo, branch)?, pin).await?)
}
