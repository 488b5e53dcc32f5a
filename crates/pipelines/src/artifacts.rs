//! The artifacts of pipelines and runs: found, opened, and let go of.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Write};

use jiff::Timestamp;

use crate::list::PipelineFilter;
use crate::pipelines::Pipelines;
use branchyard_artifacts::{ArtifactFile, ArtifactSet, SetOwner};
use branchyard_model::{BranchName, ErrorKind, PipelineState, Problem, RepoName};

/// How many green pipelines of a branch are looked through for an artifact.
const LOOKED_THROUGH: usize = 100;

/// The formats in which a whole artifact is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveFormat {
    Zip,
    Tar,
}

/// The artifacts of a pipeline or a run, by name. Blocks.
pub fn list(pipelines: &Pipelines, of: SetOwner) -> Result<Vec<ArtifactSet>, Problem> {
    pipelines.inner().artifacts.sets(&of).map_err(|error| {
        let detail = format!("the artifacts cannot be read: {error}");
        Problem::new(ErrorKind::Internal, "artifacts_unreadable", detail)
    })
}

/// One of them. Blocks.
pub fn artifact(pipelines: &Pipelines, of: SetOwner, name: &str) -> Result<ArtifactSet, Problem> {
    let set = pipelines.inner().artifacts.set(&of, name);
    set.ok_or_else(|| artifact_not_found(name))
}

/// A file of an artifact, with its content. Blocks.
pub fn artifact_file(
    pipelines: &Pipelines,
    of: SetOwner,
    name: &str,
    path: &str,
) -> Result<(ArtifactFile, File), Problem> {
    let set = artifact(pipelines, of, name)?;
    let file = set.files.into_iter().find(|file| file.path == path);
    let file = file.ok_or_else(|| {
        let detail = format!("the artifact {name:?} has no file {path:?}");
        Problem::new(ErrorKind::NotFound, "file_not_found", detail).field("path")
    })?;
    let content = pipelines.inner().artifacts.open_blob(&file.sha256);
    let content = content.map_err(|error| {
        let detail = format!("the content of {path} cannot be read: {error}");
        Problem::new(ErrorKind::Internal, "artifact_gone", detail)
    })?;
    Ok((file, content))
}

/// Writes all of an artifact. After an error what was written is no whole archive. Blocks.
pub fn write_archive(
    pipelines: &Pipelines,
    set: &ArtifactSet,
    format: ArchiveFormat,
    out: impl Write,
) -> io::Result<()> {
    match format {
        ArchiveFormat::Zip => pipelines.inner().artifacts.write_zip(set, out),
        ArchiveFormat::Tar => pipelines.inner().artifacts.write_tar(set, out),
    }
}

/// The artifact of this name of the newest pipeline of a branch that succeeded and has one. Blocks.
pub fn latest(
    pipelines: &Pipelines,
    repo: &RepoName,
    branch: &BranchName,
    name: &str,
) -> Result<ArtifactSet, Problem> {
    let filter = PipelineFilter {
        branch: Some(branch.clone()),
        state: Some(PipelineState::Succeeded),
        ..PipelineFilter::default()
    };
    let (green, _) = pipelines.list(repo, &filter, LOOKED_THROUGH, |_| true)?;
    let mut sets = green.iter().filter_map(|green| {
        let owner = SetOwner::Pipeline(green.pipeline_id);
        pipelines.inner().artifacts.set(&owner, name)
    });
    sets.next().ok_or_else(|| {
        let mut problem = artifact_not_found(name);
        problem.detail = format!("no pipeline of {branch} that succeeded has an artifact {name:?}");
        problem
    })
}

/// Lets go of artifacts and caches that are beyond what is kept. The newest green ones of default branches stay.
pub(crate) fn sweep(pipelines: &Pipelines, now: Timestamp) {
    let mut newest = HashSet::new();
    for repo in pipelines.inner().repos.list() {
        let branch = repo
            .default_branch()
            .and_then(|name| BranchName::parse(&name).ok());
        let Some(branch) = branch else { continue };
        let filter = PipelineFilter {
            branch: Some(branch),
            state: Some(PipelineState::Succeeded),
            ..PipelineFilter::default()
        };
        if let Ok((green, _)) = pipelines.list(repo.name(), &filter, 1, |_| true) {
            newest.extend(green.into_iter().map(|it| it.pipeline_id));
        }
    }
    let is_pinned = |owner: &SetOwner, _: &str| match owner {
        SetOwner::Pipeline(id) => newest.contains(id) || pipelines.live(*id).is_some(),
        SetOwner::Run(_) => false,
    };
    if let Err(error) = pipelines.inner().artifacts.sweep(now, &is_pinned) {
        tracing::error!(%error, "failed to let go of old artifacts");
    }
    if let Err(error) = pipelines.inner().caches.sweep() {
        tracing::error!(%error, "failed to let go of old caches");
    }
}

fn artifact_not_found(name: &str) -> Problem {
    let detail = format!("there is no artifact {name:?}");
    Problem::new(ErrorKind::NotFound, "artifact_not_found", detail)
        .field("name")
        .help("GET /api/pipelines/{id}/artifacts and /api/runs/{id}/artifacts list them")
}
