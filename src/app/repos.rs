//! A repository as people and programs see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AuthorizedApp;
use branchyard_model::{Problem, RepoName};
use branchyard_triggers::WatchStatus;
use branchyard_workspace::repos::{Repo, Source};

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RepoSummary {
    pub name: RepoName,
    pub url: String,
    /// `null` until it is known: the clone finds out.
    pub default_branch: Option<String>,
    pub source: Source,
    /// Whether it was cloned yet; the first use of a branch does that.
    pub cloned: bool,
    /// How many branches have a workspace.
    pub workspaces: usize,
    /// The names of the commands that may be started here as tasks.
    pub tasks: Vec<String>,
    /// How it is watched for what starts pipelines by itself, where the operator says so (`auto`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch: Option<WatchStatus>,
}

pub fn repo_summary(app: &AuthorizedApp, repo: &Repo) -> RepoSummary {
    let tasks = repo.config().tasks.keys();
    RepoSummary {
        name: repo.name().clone(),
        url: repo.config().url.as_str().to_owned(),
        default_branch: repo.default_branch(),
        source: *repo.source(),
        cloned: repo.is_cloned(),
        workspaces: app.count_on_disk(repo),
        tasks: tasks.map(ToString::to_string).collect(),
        watch: app.yard().triggers.status(repo.name()),
    }
}

/// Clones it unless that was done before.
pub async fn clone(app: &AuthorizedApp, name: &RepoName) -> Result<RepoSummary, Problem> {
    let repo = app.whole_repo(name)?;
    app.yard().margin.check()?;
    let cloned = repo.ensure_store(&|_, _| {}).await;
    cloned.map_err(|error| app.judge(error))?;
    Ok(repo_summary(app, &repo))
}
