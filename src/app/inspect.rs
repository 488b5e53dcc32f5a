//! Reads of a workspace. The first one makes the workspace; none after that uses the network, and none
//! waits for a build.

use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AuthorizedApp;
use super::machine::{EnvironmentReport, Machine};
use branchyard_model::{BranchName, Problem, RepoName};
use branchyard_runs::argv::{self, Args};
use branchyard_runs::secrets;
use branchyard_workspace::{
    Error, FilePart, FilesGuard, GrepRequest, ListRequest, Listing, Matches, RawFile, ReadRequest,
    Stamp, Workspace, files, prepare, recover, silent, standing,
};

pub use branchyard_model::About;

const QUICK_LIMIT: usize = 1024 * 1024;
const QUICK_PATIENCE: Duration = Duration::from_secs(30);

/// What `git/quick` takes.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuickRequest {
    /// `status`, `log`, `branch`, `diff` or `show`.
    #[schemars(regex(pattern = "^(status|log|branch|diff|show)$"))]
    pub operation: String,
    /// Arguments: an array, or a string that is split once by shell-word rules.
    #[serde(default)]
    pub args: Args,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct GitOutput {
    pub operation: String,
    pub exit_code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    /// The output was longer than an answer holds.
    pub truncated: bool,
}

pub async fn ls(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    request: ListRequest,
) -> Result<(About, Listing), Problem> {
    read(app, repo, branch, move |workspace| {
        let request = request.clone();
        async move { files::list(&workspace, request).await }
    })
    .await
}

pub async fn read_file(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    request: ReadRequest,
) -> Result<(About, FilePart), Problem> {
    let max = app.yard().config.limits.max_read.as_usize();
    read(app, repo, branch, move |workspace| {
        let request = request.clone();
        async move { files::read(&workspace, request, max).await }
    })
    .await
}

/// Opens a file of a workspace, to be read without the workspace being held.
pub async fn raw_file(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    path: &str,
) -> Result<RawFile, Problem> {
    read(app, repo, branch, move |workspace| {
        let path = path.to_owned();
        async move { files::open(&workspace, path).await }
    })
    .await
}

/// Searches the files of a workspace.
pub async fn grep(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    request: GrepRequest,
) -> Result<(About, Matches), Problem> {
    let grep = request.check()?;
    read(app, repo, branch, move |workspace| {
        let grep = grep.clone();
        async move { files::grep(&workspace, grep).await }
    })
    .await
}

/// Differs whenever the file or directory does; `None` where there is none. Unlike a read it makes no
/// workspace and keeps none from being reaped.
pub async fn file_stamp(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    path: &str,
) -> Result<Option<Stamp>, Problem> {
    app.check(repo, branch)?;
    let workspace = app.yard().workspaces.look_at(&app.repo(repo)?, branch);
    Ok(files::stamp(&workspace, path.to_owned()).await?)
}

pub async fn git_quick(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    request: QuickRequest,
) -> Result<(About, GitOutput), Problem> {
    let args = argv::git_quick(&request.operation, request.args.into_words()?)?;
    let (about, output) = read(app, repo, branch, move |workspace| {
        let args = args.args.clone();
        async move {
            // First, for it finds what git could only stumble over.
            let about = standing::about(&workspace).await?;
            let output = standing::git_read(&workspace, &args, QUICK_LIMIT, QUICK_PATIENCE).await?;
            Ok((about, output))
        }
    })
    .await?;
    let answer = GitOutput {
        operation: request.operation,
        exit_code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        truncated: output.truncated,
    };
    Ok((about, answer))
}

/// The machine, its tools, and the environment that a build of this branch gets.
pub async fn environment(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
) -> Result<(About, EnvironmentReport), Problem> {
    let (workspace, _files) = step_in(app, repo, branch).await?;
    let about = standing::about(&workspace).await?;
    let runs = &app.yard().runs;
    let mut environment = runs.declared_environment(&workspace, &about.commit);
    for (name, value) in [
        ("BRANCHYARD_RUN_ID", "(the run's id)".to_owned()),
        ("TMPDIR", "(a directory of the run's own)".to_owned()),
    ] {
        environment.insert(name.to_owned(), value);
    }
    // What the operator set for builds may be a secret; that it is set is not.
    for name in workspace.repo().config().env.keys() {
        environment.insert(name.as_str().to_owned(), "(set by the operator)".to_owned());
    }
    environment.extend(secrets::secret_variables(&app.yard().runs, repo, branch));
    let path = environment.get("PATH").cloned().unwrap_or_default();
    let report = EnvironmentReport {
        machine: Machine::read(workspace.path()),
        tools: super::machine::tools(&path, workspace.path()).await,
        environment,
    };
    Ok((about, report))
}

/// Reads something of a workspace, mending what is in the way.
pub(super) async fn read<T, F>(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
    read: impl Fn(Arc<Workspace>) -> F,
) -> Result<T, Problem>
where
    F: Future<Output = Result<T, Error>>,
{
    let workspace = app.workspace(repo, branch)?;
    let once = || async {
        match step_in(app, repo, branch).await {
            Ok((_, _files_guard)) => read(workspace.clone()).await.map(Ok),
            Err(problem) => Ok(Err(problem)),
        }
    };
    recover::retried(&workspace, &silent(), once).await?
}

async fn step_in(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: &BranchName,
) -> Result<(Arc<Workspace>, FilesGuard), Problem> {
    let workspace = app.workspace(repo, branch)?;
    if !workspace.exists() {
        app.yard().margin.check()?;
    }
    loop {
        // Making a workspace is rare and a large future: boxed, it is no part of every read's.
        match Box::pin(prepare::ensure(&workspace, Instant::now(), &silent())).await {
            Ok(files_guard) => return Ok((workspace, files_guard)),
            // Git's own files may have to be put back before they can be trusted.
            Err(_) if workspace.exists() && app.yard().margin.make_room() => {}
            Err(error) => return Err(app.judge(error)),
        }
    }
}
