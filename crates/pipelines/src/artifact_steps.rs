//! `actions/upload-artifact` and `actions/download-artifact`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::action::{ActionDone, With, given, is_set};
use branchyard_artifacts::{
    ArtifactError, ArtifactSet, ArtifactStore, CollectRequest, JobDirs, SetOwner, UNNAMED,
};
use branchyard_model::{Globs, PipelineId, Problem, Stars, Warning};

const DAY: u64 = 24 * 60 * 60;

/// Where the artifacts of a job are from.
#[derive(Debug, Clone)]
pub(crate) struct ArtifactJob {
    pub(crate) store: Arc<ArtifactStore>,
    pub(crate) pipeline: PipelineId,
    pub(crate) job: String,
    pub(crate) attempt: u32,
    /// What the attempt is known to have made.
    pub(crate) made: Vec<String>,
    pub(crate) dirs: JobDirs,
}

impl ArtifactJob {
    fn owner(&self) -> SetOwner {
        SetOwner::Pipeline(self.pipeline)
    }

    /// The artifacts that this job has made. A later attempt makes them anew.
    fn of_job(&self) -> Result<Vec<ArtifactSet>, Problem> {
        let mut sets = self.all()?;
        sets.retain(|set| set.job.as_deref() == Some(&self.job));
        Ok(sets)
    }

    fn all(&self) -> Result<Vec<ArtifactSet>, Problem> {
        self.store.sets(&self.owner()).map_err(|error| {
            let what = "read the artifacts of the pipeline".to_owned();
            Problem::from(ArtifactError::Io { what, error })
        })
    }

    /// Collects what the step names. Blocks.
    pub(crate) fn upload(&self, with: &With) -> Result<ActionDone, Problem> {
        let name = given(with, "name").unwrap_or(UNNAMED);
        let keep = given(with, "retention-days").map(|days| {
            let days = days.parse::<u64>();
            days.map(|days| Duration::from_secs(days.saturating_mul(DAY)))
                .map_err(|_| Problem::unprocessable("retention-days", "it is a number of days"))
        });
        let keep = keep.transpose()?.filter(|keep| !keep.is_zero());
        let before = self.of_job()?;
        let is_made = self.made.iter().any(|made| made == name);
        let is_own = |set: &ArtifactSet| set.name == name && !is_made;
        let paths = with.get("path").into_iter().flat_map(|path| path.lines());
        let paths: Vec<String> = paths.map(str::to_owned).collect();
        let request = CollectRequest {
            paths: &paths,
            dirs: &self.dirs,
            include_hidden: is_set(with, "include-hidden-files")?,
            // One of an earlier attempt at the same job makes way, and one that a daemon made and was killed before it
            // said so.
            overwrite: is_set(with, "overwrite")? || before.iter().any(is_own),
            job: Some(self.job.clone()),
            attempt: self.attempt,
            bytes_before: before
                .iter()
                .filter(|set| set.name != name && set.attempt == self.attempt)
                .map(|set| set.bytes)
                .sum(),
            now: Timestamp::now(),
            keep,
        };
        let collected = self.store.collect(&self.owner(), name, &request);
        let collected = collected.map_err(Problem::from)?;
        let mut done = ActionDone {
            warnings: collected.warnings,
            ..ActionDone::default()
        };
        let Some(set) = collected.set else {
            let message = format!("no file is at {}", paths.join(", "));
            return match given(with, "if-no-files-found").unwrap_or("warn") {
                "error" => Err(Problem::unprocessable("path", message)),
                "ignore" => Ok(done),
                _ => {
                    done.warnings.push(Warning::new("no_files_found", message));
                    Ok(done)
                }
            };
        };
        done.outputs
            .insert("artifact-id".to_owned(), set.name.clone());
        done.outputs
            .insert("artifact-digest".to_owned(), set.digest.clone());
        let url = format!("/api/pipelines/{}/artifacts/{}", self.pipeline, set.name);
        done.outputs.insert("artifact-url".to_owned(), url);
        done.made = Some(set.name);
        Ok(done)
    }

    /// Writes artifacts of the pipeline into the worktree: one by its name, or all, or those that match `pattern`. Blocks.
    pub(crate) fn download(&self, with: &With) -> Result<ActionDone, Problem> {
        let into = given(with, "path").unwrap_or(".");
        let restore = |set: &ArtifactSet, into: &str| {
            self.store
                .restore(set, &self.dirs, into)
                .map_err(Problem::from)
        };
        if let Some(name) = given(with, "name") {
            let set = self.store.set(&self.owner(), name).ok_or_else(|| {
                let detail = format!("the pipeline has no artifact {name:?} yet");
                Problem::unprocessable("name", detail).help("name the job that makes it in `needs`")
            })?;
            restore(&set, into)?;
        } else {
            let glob =
                given(with, "pattern").map(|pattern| Globs::one(pattern, Stars::WithinSegment));
            let glob = glob
                .transpose()
                .map_err(|rule| Problem::unprocessable("pattern", rule))?;
            let is_merged = is_set(with, "merge-multiple")?;
            for set in self.all()? {
                if glob.as_ref().is_some_and(|glob| !glob.matches(&set.name)) {
                    continue;
                }
                let own = match is_merged {
                    true => into.to_owned(),
                    false => format!("{into}/{}", set.name),
                };
                restore(&set, &own)?;
            }
        }
        let outputs = BTreeMap::from([("download-path".to_owned(), into.to_owned())]);
        Ok(ActionDone {
            outputs,
            ..ActionDone::default()
        })
    }
}
