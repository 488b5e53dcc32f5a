//! Salvage: list, look at, restore and let go of work that was saved.

use std::path::PathBuf;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AuthorizedApp;
use super::branches::collecting;
use branchyard_git::Manifest;
use branchyard_model::{
    BranchName, ErrorKind, Problem, RepoName, Salvage, SalvageId, SalvagedFile, Warning,
};
use branchyard_workspace::repos::Repo;
use branchyard_workspace::{Description, describe, no_salvage, restore, salvage};

/// Which salvages are wanted.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SalvageFilter {
    /// Only those of this repository.
    pub repo: Option<RepoName>,
    /// Only those of this branch.
    pub branch: Option<BranchName>,
}

/// A salvage in a list.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SalvageItem {
    #[serde(flatten)]
    pub salvage: Salvage,
    /// Seconds that the daemon will run before it lets go of it.
    pub expires_in: u64,
}

/// A salvage with the files that it holds.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SalvageDetail {
    #[serde(flatten)]
    pub item: SalvageItem,
    pub files: Vec<SalvagedFile>,
}

/// Where a salvage is to be restored.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreRequest {
    /// A new branch; none to restore into the branch that it was saved from.
    #[serde(default)]
    pub branch: Option<BranchName>,
    /// Save what is in the workspace now, and restore in its place.
    #[serde(default)]
    pub force: bool,
}

impl AuthorizedApp {
    /// All salvages, the newest first.
    pub async fn salvages(&self, filter: &SalvageFilter) -> Result<Vec<SalvageItem>, Problem> {
        let repos = match &filter.repo {
            Some(name) => vec![self.repo(name)?],
            None => self.repos(),
        };
        let mut found = Vec::new();
        for repo in repos {
            let salvages = salvage::salvages(&self.yard.workspaces, &repo).await;
            found.extend(salvages.map_err(|error| error.problem())?);
        }
        found.retain(|Manifest { salvage, .. }| {
            self.principal().sees(&salvage.repo, &salvage.branch)
        });
        found.retain(|manifest| {
            filter
                .branch
                .as_ref()
                .is_none_or(|branch| *branch == manifest.salvage.branch)
        });
        found.sort_by_key(|manifest| std::cmp::Reverse(manifest.salvage.id));
        Ok(found
            .into_iter()
            .map(|manifest| self.item(manifest))
            .collect())
    }

    pub async fn salvage(&self, id: SalvageId) -> Result<SalvageDetail, Problem> {
        let repo = self.repo_of_salvage(id).await?;
        let found = salvage::read(&self.yard.workspaces, &repo, id).await;
        let found = found.map_err(|error| error.problem())?;
        let (manifest, files) = found.ok_or_else(|| no_salvage(id))?;
        Ok(SalvageDetail {
            item: self.item(manifest),
            files,
        })
    }

    /// The bytes of one file of a salvage.
    pub async fn salvaged_file(&self, id: SalvageId, path: &str) -> Result<Vec<u8>, Problem> {
        let repo = self.repo_of_salvage(id).await?;
        let found = salvage::salvaged_file(&self.yard.workspaces, &repo, id, PathBuf::from(path))
            .await
            .map_err(|error| error.problem())?;
        found.ok_or_else(|| {
            Problem::new(
                ErrorKind::NotFound,
                "file_not_found",
                format!("the salvage has no file {path:?}"),
            )
                .field("path")
                .help("GET /api/salvage/{id} or `branchyard salvage show` lists its files; what is archived cannot be read singly")
        })
    }

    /// Brings a salvage back, into its own branch or as a new one.
    pub async fn restore(
        &self,
        id: SalvageId,
        request: &RestoreRequest,
    ) -> Result<(Description, Vec<Warning>), Problem> {
        self.yard.margin.check()?;
        let repo = self.repo_of_salvage(id).await?;
        let branch = match &request.branch {
            Some(branch) => branch.clone(),
            None => self.salvage(id).await?.item.salvage.branch,
        };
        let workspace = self.workspace_in(&repo, &branch)?;
        self.check_unprotected(&repo, &branch, "restored").await?;
        let _lock = workspace
            .queue()
            .lock("restore", &self.principal().name)
            .await;
        let (report, warnings) = collecting();
        restore::restore(
            &workspace,
            id,
            request.force,
            &self.principal().name,
            &report,
        )
        .await
        .map_err(|error| self.yard.margin.judge(error.problem()))?;
        let description = describe::describe(&workspace, true).await;
        Ok((
            description.map_err(|error| error.problem())?,
            warnings.so_far(),
        ))
    }

    /// Lets go of a salvage for good.
    pub async fn drop_salvage(&self, id: SalvageId) -> Result<(), Problem> {
        let repo = self.repo_of_salvage(id).await?;
        let had = salvage::drop_salvage(&self.yard.workspaces, &repo, id).await;
        if !had.map_err(|error| error.problem())? {
            return Err(no_salvage(id));
        }
        tracing::info!(salvage = %id, repo = %repo.name, by = self.principal().name, "a salvage was dropped");
        Ok(())
    }

    async fn repo_of_salvage(&self, id: SalvageId) -> Result<Arc<Repo>, Problem> {
        for repo in self.repos() {
            let branch = salvage::branch_of_salvage(&self.yard.workspaces, &repo, id).await;
            if let Some(branch) = branch.map_err(|error| error.problem())?
                && self.principal().sees(&repo.name, &branch)
            {
                return Ok(repo);
            }
        }
        Err(no_salvage(id))
    }

    fn item(&self, manifest: Manifest) -> SalvageItem {
        let ttl = self.yard.config.reaper.salvage_ttl;
        SalvageItem {
            expires_in: salvage::salvage_expires_in(&self.yard.workspaces, &manifest, ttl),
            salvage: manifest.salvage,
        }
    }
}
