//! Artifacts of pipelines and runs that are to be seen.

use std::io::{self, Write};

use super::pipelines::blocking;
use super::{AuthorizedApp, pipelines, runs};
use branchyard_artifacts::{ArtifactSet, SetOwner};
use branchyard_model::{BranchName, ErrorKind, Problem, RepoName, RunState};
use branchyard_pipelines::Pipelines;
use branchyard_pipelines::artifacts::{self as stored, ArchiveFormat};

/// Asks of the artifacts of a pipeline or a run that is to be seen.
pub async fn ask<T: Send + 'static>(
    app: &AuthorizedApp,
    of: SetOwner,
    ask: impl FnOnce(&Pipelines) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    match of {
        SetOwner::Pipeline(id) => drop(pipelines::get(app, id)?),
        SetOwner::Run(id) => {
            let record = runs::get(app, id)?;
            if !matches!(record.state, RunState::Ended(_)) {
                let detail = "the run has not ended";
                return Err(Problem::new(ErrorKind::Conflict, "not_ended", detail)
                    .help("its artifacts are there once it has; wait for it"));
            }
        }
    }
    let pipelines = app.yard().pipelines.clone();
    blocking(move || ask(&pipelines)).await
}

/// The artifact of the newest pipeline of a branch that succeeded and has one.
pub async fn latest(
    app: &AuthorizedApp,
    repo: &RepoName,
    branch: Option<BranchName>,
    name: &str,
) -> Result<ArtifactSet, Problem> {
    let repo = app.repo(repo)?;
    let branch = match branch {
        Some(branch) => branch,
        None => {
            let named = repo.default_branch().ok_or_else(|| {
                let detail = "it is not known yet which branch is the default one";
                Problem::unprocessable("branch", detail).help("name the branch")
            })?;
            BranchName::parse(&named)?
        }
    };
    app.check(repo.name(), &branch)?;
    let (pipelines, name) = (app.yard().pipelines.clone(), name.to_owned());
    blocking(move || stored::latest(&pipelines, repo.name(), &branch, &name)).await
}

/// Writes all of an artifact that was found to be seen. Blocks.
pub fn write_archive(
    app: &AuthorizedApp,
    set: &ArtifactSet,
    format: ArchiveFormat,
    out: impl Write,
) -> io::Result<()> {
    stored::write_archive(&app.yard().pipelines, set, format, out)
}
