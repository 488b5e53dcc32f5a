//! Agents on branches: a workspace for each task, made on first request and found again by the same one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AuthorizedApp;
use super::branches::collecting;
use crate::app::{branches, inspect, workspace_lock};
use branchyard_config::{RepoUrl, UrlPolicy};
use branchyard_model::{
    AgentTask, BranchName, CommitId, ErrorKind, Problem, RepoName, Scope, Warning,
};
use branchyard_workspace::repos::{Registration, Repo};
use branchyard_workspace::{
    AgentBranch, PrepareOptions, Reporter, Workspace, prepare, standing, sync,
};

/// What can be part of the name of a branch.
const AGENT_ID: &str = "^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$";

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloneRequest {
    /// Where the repository is cloned from. One that the yard does not know yet is registered, which needs
    /// the right admin.
    pub url: Option<String>,
    /// The repository's name in the yard; for a new one, the name to give it. With a URL it may be left
    /// out.
    pub repo: Option<RepoName>,
    /// Who works on it: letters, digits, '.', '_' and '-'.
    #[schemars(regex(pattern = AGENT_ID), length(max = 64))]
    pub agent_id: String,
    /// What it works on. One branch is made for each agent and task: agent-{agent_id}-{task_id}.
    #[schemars(regex(pattern = AGENT_ID), length(max = 64))]
    pub task_id: String,
    /// The branch or commit to start from; the remote's default branch if left out.
    pub base: Option<String>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitRequest {
    /// The name of the new repository.
    pub repo: RepoName,
    /// The name of its first branch; main if left out.
    pub default_branch: Option<BranchName>,
}

/// A workspace to begin with.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Begun {
    pub repo: RepoName,
    pub branch: BranchName,
    /// The directory of its files.
    pub workspace: PathBuf,
    pub commit: CommitId,
    /// What it was made from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Whether the branch is new; else it was found as it is.
    pub created: bool,
    /// Whether the repository was registered by this call.
    pub registered: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

/// The workspace for a task of an agent. The same request again finds the same workspace.
pub async fn git_clone(app: &AuthorizedApp, request: &CloneRequest) -> Result<Begun, Problem> {
    app.require(Scope::GitWrite)?;
    let task = AgentTask::parse(&request.agent_id, &request.task_id)?;
    let branch = task.branch()?;
    app.yard().margin.check()?;
    let (repo, registered) = repo_for(app, request, &branch).await?;
    app.check(repo.name(), &branch)?;
    let workspace = app.workspace_in(&repo, &branch)?;
    let known = app.yard().workspaces.agents().of(repo.name(), &branch)?;
    let known = known.filter(|known| known.task == task && workspace.exists());
    let (report, warnings) = collecting();
    let (known, created, about) = match known {
        // That is only a look, which waits for no build there.
        Some(known) => {
            let look = |workspace: Arc<_>| async move { standing::about(&workspace).await };
            let about = inspect::read(app, repo.name(), &branch, look).await?;
            (known, false, about)
        }
        None => {
            let _lock = workspace_lock::lock_of(app, &workspace, "git clone").await?;
            let base = request.base.as_deref();
            let (known, created) = branch_for(app, &workspace, task, base, &report).await?;
            (known, created, standing::about(&workspace).await?)
        }
    };
    Ok(Begun {
        repo: repo.name().clone(),
        branch,
        workspace: workspace.path().to_owned(),
        commit: about.commit,
        base: Some(known.base),
        created,
        registered,
        warnings: warnings.so_far(),
    })
}

/// Makes the branch of a task or finds it. The caller holds the workspace's lock.
async fn branch_for(
    app: &AuthorizedApp,
    workspace: &Arc<Workspace>,
    task: AgentTask,
    base: Option<&str>,
    report: &Reporter,
) -> Result<(AgentBranch, bool), Problem> {
    let told = |error: branchyard_workspace::Error| app.judge(error);
    let (repo, branch) = (workspace.repo(), workspace.branch());
    let known = app.yard().workspaces.agents().of(repo.name(), branch);
    let known = known.map_err(told)?;
    if let Some(known) = &known
        && known.task != task
    {
        return Err(taken(known));
    }
    let made = Instant::now();
    let is_new =
        !workspace.exists() && !prepare::is_to_be_had(workspace, made).await.map_err(told)?;
    let base = match (&known, base) {
        (Some(known), _) if !is_new => known.base.clone(),
        (_, Some(base)) => base.to_owned(),
        (_, None) => default_branch(app, repo).await?,
    };
    if is_new {
        app.check_unprotected(repo, branch, "created").await?;
        let created = prepare::create_branch(workspace, &base, report).await;
        created.map_err(|error| match told(error) {
            problem if problem.field.as_deref() == Some("from") => problem.field("base"),
            problem => problem,
        })?;
    } else {
        let ensured = prepare::ensure(workspace, made, report).await;
        drop(ensured.map_err(told)?);
    }
    if let Some(known) = known.filter(|_| !is_new) {
        return Ok((known, false));
    }
    let start = standing::about(workspace).await.map_err(told)?.commit;
    let begun = AgentBranch::new(branch.clone(), task, base, start);
    let kept = app.yard().workspaces.agents().keep(repo.name(), &begun);
    kept.map_err(told)?;
    Ok((begun, is_new))
}

async fn default_branch(app: &AuthorizedApp, repo: &Arc<Repo>) -> Result<String, Problem> {
    let default = repo.ask_default_branch().await;
    default.map_err(|error| app.judge(error))?.ok_or_else(|| {
        let detail = format!("the remote of {} names no default branch", repo.name());
        Problem::new(ErrorKind::Conflict, "no_default_branch", detail)
            .field("base")
            .help("name the branch or commit to start from")
    })
}

/// The repository that is meant, and whether it is new to the yard.
async fn repo_for(
    app: &AuthorizedApp,
    request: &CloneRequest,
    branch: &BranchName,
) -> Result<(Arc<Repo>, bool), Problem> {
    let Some(url) = &request.url else {
        let Some(name) = &request.repo else {
            let detail = "give url or repo";
            return Err(Problem::unprocessable("repo", detail)
                .help("GET /api/repos or the tool `list` tells which there are"));
        };
        return Ok((app.repo(name)?, false));
    };
    let known = || {
        app.repos().into_iter().find(|repo| {
            let name = request.repo.as_ref();
            plain(repo.config().url.as_str()) == plain(url)
                && name.is_none_or(|name| repo.name() == name)
        })
    };
    if let Some(known) = known() {
        return Ok((known, false));
    }
    app.require(Scope::Admin)?;
    RepoUrl::parse(url, &UrlPolicy::caller(&app.yard().config.git))?;
    let name = match &request.repo {
        Some(name) => name.clone(),
        None => named_by(url)?,
    };
    // Before a repo is taken on that nothing could be done with.
    app.check(&name, branch)?;
    let registration = Registration::new(name, url.clone());
    match branches::register(app, &registration).await {
        Ok(repo) => Ok((repo, true)),
        Err(problem) if problem.code == "repo_exists" => match known() {
            // The same call came twice, and the other was quicker.
            Some(known) => Ok((known, false)),
            None => Err(problem
                .field("repo")
                .help("it has another URL; give this one another name in repo")),
        },
        Err(problem) => Err(problem),
    }
}

/// A new, empty repository that the yard itself keeps, and a workspace of its first branch.
pub async fn git_init(app: &AuthorizedApp, request: &InitRequest) -> Result<Begun, Problem> {
    app.require(Scope::Admin)?;
    app.yard().margin.check()?;
    let branch = match &request.default_branch {
        Some(branch) => branch.clone(),
        None => BranchName::parse("main")?,
    };
    app.check(&request.repo, &branch)?;
    let repo = app.yard().repos.init(&request.repo, &branch).await;
    let repo = repo.map_err(|error| app.judge(error))?;
    let workspace = app.workspace_in(&repo, &branch)?;
    let by = app.principal().name();
    let _lock = workspace.queue().lock("git init", by).await;
    let (report, warnings) = collecting();
    let options = PrepareOptions::up_to_date(by, Instant::now());
    let prepared = sync::prepare(&workspace, &options, &report).await;
    let (about, _) = prepared.map_err(|error| app.judge(error))?;
    Ok(Begun {
        repo: repo.name().clone(),
        branch,
        workspace: workspace.path().to_owned(),
        commit: about.commit,
        base: None,
        created: true,
        registered: true,
        warnings: warnings.so_far(),
    })
}

/// URLs that differ only in what git does not care about.
fn plain(url: &str) -> &str {
    let url = url.trim_end_matches('/');
    url.strip_suffix(".git").unwrap_or(url)
}

fn named_by(url: &str) -> Result<RepoName, Problem> {
    let last = plain(url).rsplit(['/', ':']).next().unwrap_or_default();
    RepoName::parse(last).map_err(|_| {
        Problem::unprocessable("repo", "the URL does not end in what could be a name")
            .help("give the repository a name in repo")
    })
}

fn taken(known: &AgentBranch) -> Problem {
    let detail = format!(
        "{} is the branch of task {:?} of agent {:?}",
        known.branch, known.task.task_id, known.task.agent_id
    );
    Problem::new(ErrorKind::Conflict, "branch_taken", detail)
        .field("task_id")
        .help("choose an agent_id or task_id of which no other pair makes the same name")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_named_by_the_end_of_its_url() {
        for (url, name) in [
            ("https://example.org/team/app.git", Some("app")),
            ("git@example.org:app", Some("app")),
            ("/srv/git/app.git/", Some("app")),
            ("https://example.org/", Some("example.org")),
            ("https://example.org/-x", None),
        ] {
            let named = named_by(url).ok().map(|name| name.to_string());
            assert_eq!(named.as_deref(), name, "{url}");
        }
    }
}
