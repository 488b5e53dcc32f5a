//! Making room, and keeping what somebody wants kept.

use jiff::Timestamp;

use super::AuthorizedApp;
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName};
use branchyard_workspace::{Description, Pin, Reaped, Reaping, pin};

/// Enough for a sentence or two; it is shown in lists.
const LONGEST_REASON: usize = 500;

impl AuthorizedApp {
    /// What the reaper would do or, without `dry_run`, does now, in all repos or in one.
    pub async fn reap(&self, dry_run: bool, only: Option<RepoName>) -> Result<Reaping, Problem> {
        match &only {
            Some(repo) => drop(self.whole_repo(repo)?),
            None => self.principal().require_everywhere()?,
        }
        self.yard.reaper.reap(dry_run, only).await.ok_or_else(|| {
            Problem::new(
                ErrorKind::Internal,
                "reaper_failed",
                "the pass of the reaper came to no end",
            )
        })
    }

    /// What the reaper did of late, and when it will look again.
    pub fn reaped(&self) -> Result<(Vec<Reaped>, Option<Timestamp>), Problem> {
        self.principal().require_everywhere()?;
        Ok(self.yard.reaper.recent())
    }

    /// Keeps a workspace from being reaped or removed.
    pub async fn pin(
        &self,
        repo: &RepoName,
        branch: &BranchName,
        reason: Option<String>,
    ) -> Result<Description, Problem> {
        let reason = reason.filter(|reason| !reason.trim().is_empty());
        if reason
            .as_ref()
            .is_some_and(|reason| reason.len() > LONGEST_REASON)
        {
            let rule = format!("a reason has at most {LONGEST_REASON} bytes");
            return Err(Problem::unprocessable("reason", rule));
        }
        let pin = Pin {
            by: self.by(),
            reason,
            at: Timestamp::now(),
        };
        self.set_pin(repo, branch, Some(pin)).await?;
        self.describe(repo, branch).await
    }

    /// Lets a pinned workspace go by the usual rules again.
    pub async fn unpin(&self, repo: &RepoName, branch: &BranchName) -> Result<(), Problem> {
        self.set_pin(repo, branch, None).await
    }

    async fn set_pin(
        &self,
        repo: &RepoName,
        branch: &BranchName,
        pin: Option<Pin>,
    ) -> Result<(), Problem> {
        let workspace = self.workspace(repo, branch)?;
        pin::set_pin(&workspace, pin)
            .await
            .map_err(|error| error.problem())
    }
}
