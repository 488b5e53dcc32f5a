//! Branches and their workspaces: list, describe, prepare, remove.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;

use super::App;
use crate::auth::Principal;
use crate::git;
use crate::model::{BranchName, ErrorKind, Problem, RepoName, Salvage, Warning};
use crate::repos::{Registration, Repo, Source};
use crate::workspace::{Description, Going, Report, Reporter, Wish, several};

impl App {
    /// All workspaces of a repo; with `remote` also the branches that only the remote has.
    pub async fn branches(
        &self,
        repo: &RepoName,
        remote: bool,
    ) -> Result<Vec<Description>, Problem> {
        let repo = self.repos.get(repo)?;
        let mut found = Vec::new();
        let branches = self.workspaces.on_disk(&repo);
        let described = several(branches.clone(), |branch| {
            let workspace = self.workspaces.get(&repo, &branch);
            async move {
                match workspace.exists() {
                    true => workspace.describe(false).await.map(Some),
                    false => Ok(None),
                }
            }
        });
        for (branch, described) in branches.iter().zip(described.await) {
            match described {
                Ok(Ok(description)) => found.extend(description),
                Ok(Err(error)) => {
                    tracing::warn!(repo = %repo.name, %branch, %error, "a workspace cannot be described");
                }
                Err(error) => {
                    tracing::error!(repo = %repo.name, %branch, %error, "a workspace cannot be described");
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
        self.margin.check()?;
        let asked_at = Instant::now();
        let _turn = workspace.turn.take("prepare", &principal.name).await;
        let (report, warnings) = collecting();
        let prepared = match from {
            Some(start) => workspace.create_branch(start, &report).await,
            None => {
                let wish = Wish::up_to_date(&principal.name, asked_at);
                workspace.prepare(&wish, &report).await.map(drop)
            }
        };
        prepared.map_err(|error| self.margin.judge(error.problem()))?;
        let description = workspace
            .describe(true)
            .await
            .map_err(|error| error.problem())?;
        Ok((description, warnings.so_far()))
    }

    /// Removes a workspace; its files are deleted in the background. With work in it, it stays, unless
    /// that is to be saved and it is to go by force.
    pub async fn remove(
        &self,
        principal: &Principal,
        repo: &RepoName,
        branch: &BranchName,
        going: Going,
    ) -> Result<Option<Salvage>, Problem> {
        let workspace = self.workspaces.get(&self.repos.get(repo)?, branch);
        let _turn = workspace.turn.take("remove", &principal.name).await;
        // What makes room must not need any.
        self.margin.make_do();
        workspace
            .remove(going, &principal.name)
            .await
            .map_err(|error| self.margin.judge(error.problem()))
    }

    pub fn register(&self, registration: &Registration) -> Result<Arc<Repo>, Problem> {
        self.margin.check()?;
        self.repos
            .register(registration)
            .map_err(|error| self.margin.judge(error.problem()))
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
        self.margin.make_do();
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
            .discard(repo.home())
            .map_err(|error| error.problem())
    }
}

/// Warnings on the way to an answer that lists them.
pub(super) struct Warnings(mpsc::UnboundedReceiver<Warning>);

impl Warnings {
    pub(super) fn so_far(mut self) -> Vec<Warning> {
        std::iter::from_fn(|| self.0.try_recv().ok()).collect()
    }
}

/// A reporter that keeps the warnings.
pub(super) fn collecting() -> (Reporter, Warnings) {
    let (tell, told) = mpsc::unbounded_channel();
    let report: Reporter = Arc::new(move |report| {
        if let Report::Warning(warning) = report {
            // Nobody listens any more once the answer is given.
            let _ = tell.send(warning);
        }
    });
    (report, Warnings(told))
}
