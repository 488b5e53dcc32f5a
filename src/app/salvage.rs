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
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SalvageItem {
    #[serde(flatten)]
    pub salvage: Salvage,
    /// Seconds that the daemon will run before it lets go of it.
    pub expires_in: u64,
}

/// A salvage with the files that it holds.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SalvageDetail {
    #[serde(flatten)]
    pub item: SalvageItem,
    pub files: Vec<SalvagedFile>,
}

/// Where a salvage is to be restored.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RestoreRequest {
    /// A new branch; none to restore into the branch that it was saved from.
    pub branch: Option<BranchName>,
    /// Save what is in the workspace now, and restore in its place.
    pub force: bool,
}

/// All salvages, the newest first.
pub async fn salvages(
    app: &AuthorizedApp,
    filter: &SalvageFilter,
) -> Result<Vec<SalvageItem>, Problem> {
    let repos = match &filter.repo {
        Some(name) => vec![app.repo(name)?],
        None => app.repos(),
    };
    let mut found = Vec::new();
    for repo in repos {
        found.extend(salvage::salvages(&repo).await?);
    }
    found.retain(|manifest| {
        let salvage = manifest.salvage();
        let is_wanted = |branch: &BranchName| *branch == salvage.branch;
        app.principal().sees(&salvage.repo, &salvage.branch)
            && filter.branch.as_ref().is_none_or(is_wanted)
    });
    found.sort_by_key(|manifest| std::cmp::Reverse(manifest.salvage().id));
    let items = found.into_iter().map(|manifest| item(app, manifest));
    Ok(items.collect())
}

pub async fn get(app: &AuthorizedApp, id: SalvageId) -> Result<SalvageDetail, Problem> {
    let repo = repo_of_salvage(app, id).await?;
    let found = salvage::read(&app.yard().workspaces, &repo, id).await?;
    let (manifest, files) = found.ok_or_else(|| no_salvage(id))?;
    Ok(SalvageDetail {
        item: item(app, manifest),
        files,
    })
}

/// The bytes of one file of a salvage.
pub async fn salvaged_file(
    app: &AuthorizedApp,
    id: SalvageId,
    path: &str,
) -> Result<Vec<u8>, Problem> {
    let repo = repo_of_salvage(app, id).await?;
    let found = salvage::salvaged_file(&repo, id, PathBuf::from(path)).await?;
    found.ok_or_else(|| {
            let detail = format!("the salvage has no file {path:?}");
            Problem::new(ErrorKind::NotFound, "file_not_found", detail)
                .field("path")
                .help("GET /api/salvage/{id} or `branchyard salvage show` lists its files; what is archived cannot be read singly")
        })
}

/// Brings a salvage back, into its own branch or as a new one.
pub async fn restore(
    app: &AuthorizedApp,
    id: SalvageId,
    request: &RestoreRequest,
) -> Result<(Description, Vec<Warning>), Problem> {
    app.yard().margin.check()?;
    let repo = repo_of_salvage(app, id).await?;
    let branch = match &request.branch {
        Some(branch) => branch.clone(),
        None => get(app, id).await?.item.salvage.branch,
    };
    let workspace = app.workspace_in(&repo, &branch)?;
    app.check_unprotected(&repo, &branch, "restored").await?;
    let by = app.principal().name();
    let _lock = workspace.queue().lock("restore", by).await;
    let (report, warnings) = collecting();
    let restored = restore::restore(&workspace, id, request.force, by, &report).await;
    restored.map_err(|error| app.judge(error))?;
    let description = describe::describe(&workspace, true).await?;
    Ok((description, warnings.so_far()))
}

/// Lets go of a salvage for good.
pub async fn drop_salvage(app: &AuthorizedApp, id: SalvageId) -> Result<(), Problem> {
    let repo = repo_of_salvage(app, id).await?;
    if !salvage::drop_salvage(&app.yard().workspaces, &repo, id).await? {
        return Err(no_salvage(id));
    }
    tracing::info!(salvage = %id, repo = %repo.name(), by = app.principal().name(), "a salvage was dropped");
    Ok(())
}

async fn repo_of_salvage(app: &AuthorizedApp, id: SalvageId) -> Result<Arc<Repo>, Problem> {
    for repo in app.repos() {
        if let Some(branch) = salvage::branch_of_salvage(&repo, id).await?
            && app.principal().sees(repo.name(), &branch)
        {
            return Ok(repo);
        }
    }
    Err(no_salvage(id))
}

fn item(app: &AuthorizedApp, manifest: Manifest) -> SalvageItem {
    let ttl = app.yard().config.reaper.salvage_ttl;
    SalvageItem {
        expires_in: salvage::salvage_expires_in(&app.yard().workspaces, &manifest, ttl),
        salvage: manifest.into_salvage(),
    }
}
