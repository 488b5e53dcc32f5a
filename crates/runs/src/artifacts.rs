//! What is kept of a run: the files that `artifacts` of its repo names, once it has succeeded.

use std::io;
use std::path::Path;

use jiff::Timestamp;

use super::drive::{Drive, Held};
use super::ending::Ending;
use super::open::RunsInner;
use branchyard_artifacts::{
    ArtifactError, ArtifactSet, CollectRequest, JobDir, JobDirs, SetOwner, UNNAMED,
};
use branchyard_model::{Problem, RunId, RunKind, Warning};
use branchyard_process::Outcome;
use branchyard_workspace::{Workspace, included};

/// Collects the artifacts of a run; what went wrong with that is a warning.
pub(super) async fn note(drive: &Drive, ending: &Ending, held: Option<&Held>) {
    let record = drive.live().record();
    let (shared, run) = (drive.shared().clone(), record.run_id);
    if !matches!(record.spec.kind, RunKind::Make | RunKind::Task) {
        return;
    }
    let kept = match ending {
        Ending::Exited(exit) if exit.outcome == Outcome::Code(0) => {
            let workspace = match held {
                Some((_, workspace)) => Some(workspace.clone()),
                None => shared.workspace_of(&record.spec),
            };
            let Some(workspace) = workspace else { return };
            if workspace.repo().config().artifacts.is_empty() {
                return;
            }
            tokio::task::spawn_blocking(move || collect(&shared, run, &workspace)).await
        }
        Ending::Reused(earlier) => {
            let earlier = *earlier;
            tokio::task::spawn_blocking(move || link(&shared, earlier, run)).await
        }
        _ => return,
    };
    let kept = kept.map_err(|error| error.to_string());
    match kept.and_then(|kept| kept.map_err(|problem| problem.outward().detail)) {
        Ok((names, warnings)) => {
            drive.live().change(|record| record.artifacts = names);
            warnings.into_iter().for_each(|warning| drive.warn(warning));
        }
        Err(why) => {
            let message = format!("the artifacts of this run were not kept: {why}");
            drive.warn(Warning::new("artifacts_not_kept", message));
        }
    }
}

/// The names of a run's artifacts, and what the caller should know of them.
type Kept = Result<(Vec<String>, Vec<Warning>), Problem>;

fn collect(shared: &RunsInner, run: RunId, workspace: &Workspace) -> Kept {
    let root = workspace.path();
    let dirs = JobDirs::only(JobDir {
        seen: root.to_owned(),
        real: root.to_owned(),
    });
    let request = CollectRequest {
        paths: &workspace.repo().config().artifacts,
        dirs: &dirs,
        include_hidden: false,
        // The daemon may have been killed in between.
        overwrite: true,
        job: None,
        attempt: 1,
        bytes_before: 0,
        now: Timestamp::now(),
        keep: None,
    };
    let owner = SetOwner::Run(run);
    let store = &shared.artifacts;
    let collected = store.collect(&owner, UNNAMED, &request);
    let collected = collected.map_err(|error| shared.margin.judge(error.into()))?;
    let Some(set) = collected.set else {
        let message = format!("no file is at {}", request.paths.join(", "));
        return Ok((Vec::new(), vec![Warning::new("no_files_found", message)]));
    };
    // No caller can read them before the run has ended.
    if let Err(problem) = check(shared, workspace, &set) {
        let removed = store.remove_owner(&owner);
        removed.map_err(|error| unreadable(error, "remove the artifacts of the run"))?;
        return Err(problem);
    }
    Ok((vec![set.name], collected.warnings))
}

/// Refuses what holds a file that the operator supplied to the workspace.
fn check(shared: &RunsInner, workspace: &Workspace, set: &ArtifactSet) -> Result<(), Problem> {
    let contents = set.files.iter().map(|file| {
        let content = shared.artifacts.open_blob(&file.sha256);
        let content = content.map_err(|error| unreadable(error, "read an artifact"))?;
        Ok((Path::new(&file.path), content))
    });
    included::check_contents(workspace, contents)
}

/// An answered run has the artifacts of the one that answered.
fn link(shared: &RunsInner, earlier: RunId, run: RunId) -> Kept {
    let store = &shared.artifacts;
    let (from, to) = (SetOwner::Run(earlier), SetOwner::Run(run));
    let sets = store.sets(&from);
    let sets = sets.map_err(|error| unreadable(error, "read the artifacts of the earlier run"))?;
    let linked = sets.into_iter().map(|set| {
        let linked = store.link(&from, &set.name, &to, Timestamp::now(), None)?;
        Ok(linked.name)
    });
    let linked: Result<Vec<_>, ArtifactError> = linked.collect();
    Ok((linked?, Vec::new()))
}

fn unreadable(error: io::Error, what: &str) -> Problem {
    let what = what.to_owned();
    ArtifactError::Io { what, error }.into()
}

/// Lets go of the artifacts of runs that are no more. Blocks.
pub(super) fn forget(shared: &RunsInner, runs: &[RunId]) {
    for run in runs {
        if let Err(error) = shared.artifacts.remove_owner(&SetOwner::Run(*run)) {
            tracing::warn!(%run, %error, "the artifacts of an old run stay");
        }
    }
}
