//! Branches and their workspaces: list, describe, prepare, remove.

use std::sync::Arc;
use std::time::Instant;

use super::App;
use crate::auth::Principal;
use crate::git;
use crate::model::{BranchName, ErrorKind, Problem, RepoName, SyncMode, Warning};
use crate::repos::Source;
use crate::workspace::{Description, Report, Reporter};

impl App {
    /// All workspaces of a repo; with `remote` also the branches that only the remote has.
    pub async fn branches(
        &self,
        repo: &RepoName,
        remote: bool,
    ) -> Result<Vec<Description>, Problem> {
        let repo = self.repos.get(repo)?;
        let mut found = Vec::new();
        for branch in self.workspaces.on_disk(&repo) {
            let workspace = self.workspaces.get(&repo, &branch);
            if !workspace.exists() {
                continue;
            }
            match workspace.describe(false).await {
                Ok(description) => found.push(description),
                Err(error) => {
                    tracing::warn!(repo = %repo.name, %branch, %error, "a workspace cannot be described");
                }
            }
        }
        if remote {
            let heads = git::remote_heads(repo.git(), repo.config.url.as_str(), &[])
                .await
                .map_err(|error| error.problem())?;
            for (name, commit) in heads {
                let branch = name.strip_prefix("refs/heads/").map(BranchName::parse);
                if let Some(Ok(branch)) = branch
                    && !found.iter().any(|known| known.branch == branch)
                {
                    found.push(Description::remote_only(&repo.name, &branch, commit));
                }
            }
        }
        found.sort_by(|a, b| a.branch.cmp(&b.branch));
        Ok(found)
    }

    pub async fn describe(
        &self,
        repo: &RepoName,
        branch: &BranchName,
    ) -> Result<Description, Problem> {
        let workspace = self.workspaces.get(&self.repos.get(repo)?, branch);
        if !workspace.exists() {
            return Err(Problem::new(
                ErrorKind::NotFound,
                "no_workspace",
                format!("{branch} has no workspace"),
            )
            .field("branch")
            .help("PUT the same address or `branchyard prepare` makes one"));
        }
        workspace
            .describe(true)
            .await
            .map_err(|error| error.problem())
    }

    /// Makes the workspace ready and up to date; with `from` creates the branch there first.
    pub async fn prepare(
        &self,
        principal: &Principal,
        repo: &RepoName,
        branch: &BranchName,
        from: Option<&str>,
    ) -> Result<(Description, Vec<Warning>), Problem> {
        let workspace = self.workspaces.get(&self.repos.get(repo)?, branch);
        let asked_at = Instant::now();
        let _turn = workspace.turn.take("prepare", &principal.name).await;
        let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
        let report: Reporter = Arc::new(move |report| {
            if let Report::Warning(warning) = report {
                // Nobody listens any more once the answer is given.
                let _ = tell.send(warning);
            }
        });
        let prepared = match from {
            Some(start) => workspace.create_branch(start, &report).await,
            None => workspace
                .prepare(&SyncMode::Auto, false, asked_at, &report)
                .await
                .map(drop),
        };
        prepared.map_err(|error| error.problem())?;
        let description = workspace
            .describe(true)
            .await
            .map_err(|error| error.problem())?;
        let warnings = std::iter::from_fn(|| told.try_recv().ok()).collect();
        Ok((description, warnings))
    }

    /// Removes a workspace that nobody would miss anything of; its files are deleted in the background.
    pub async fn remove(
        &self,
        principal: &Principal,
        repo: &RepoName,
        branch: &BranchName,
    ) -> Result<(), Problem> {
        let workspace = self.workspaces.get(&self.repos.get(repo)?, branch);
        let _turn = workspace.turn.take("remove", &principal.name).await;
        workspace
            .remove(&self.trash)
            .await
            .map_err(|error| error.problem())
    }

    /// Forgets a repo. Refused while anything of it could be missed.
    pub async fn remove_repo(&self, name: &RepoName) -> Result<(), Problem> {
        let repo = self.repos.get(name)?;
        if repo.source == Source::Config {
            return Err(Problem::new(
                ErrorKind::Conflict,
                "repo_configured",
                format!("{name} is declared in the daemon's configuration"),
            )
            .help("remove it there and restart the daemon"));
        }
        let _registry = repo.registry.lock().await;
        let left = self
            .workspaces
            .left_of(&repo)
            .map_err(|error| error.problem())?;
        if !left.is_empty() {
            return Err(Problem::new(
                ErrorKind::Conflict,
                "repo_in_use",
                format!("{name} still has {}", left.join(", ")),
            )
            .help("push what is to be kept and remove the workspaces: `branchyard branches` lists them"));
        }
        self.repos
            .unregister(name)
            .map_err(|error| error.problem())?;
        self.workspaces
            .discard(repo.home(), &self.trash)
            .map_err(|error| error.problem())
    }
}
