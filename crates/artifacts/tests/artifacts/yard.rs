//! A store, and the directory of a job.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use branchyard_artifacts::{
    ArtifactError, ArtifactLimits, ArtifactSet, ArtifactStore, CollectRequest, Collected, JobDir,
    JobDirs, SetOwner,
};
use branchyard_model::{PipelineId, Problem};
use jiff::Timestamp;
use tempfile::TempDir;

pub(crate) struct Yard {
    dir: TempDir,
    pub(crate) store: ArtifactStore,
    pub(crate) owner: SetOwner,
}

impl Yard {
    pub(crate) fn new() -> Self {
        Self::with(ArtifactLimits::default())
    }

    pub(crate) fn with(limits: ArtifactLimits) -> Self {
        Self::at(tempfile::tempdir().unwrap(), limits)
    }

    pub(crate) fn at(dir: TempDir, limits: ArtifactLimits) -> Self {
        fs::create_dir(dir.path().join("state")).unwrap();
        fs::create_dir(dir.path().join("job")).unwrap();
        let store = ArtifactStore::open(&dir.path().join("state"), limits).unwrap();
        let owner = SetOwner::Pipeline(PipelineId::new());
        Self { dir, store, owner }
    }

    pub(crate) fn job(&self) -> PathBuf {
        self.dir.path().join("job")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Writes files of the job, each with its path as content.
    pub(crate) fn write(&self, paths: &[&str]) {
        for path in paths {
            write(&self.job().join(path), path);
        }
    }

    pub(crate) fn dirs(&self) -> JobDirs {
        JobDirs::only(JobDir {
            seen: "/yard/app".into(),
            real: self.job(),
        })
    }

    /// Restores a set into a directory outside of the job.
    pub(crate) fn restore_to(&self, set: &ArtifactSet, into: &Path) -> Result<(), ArtifactError> {
        let dirs = JobDirs::only(JobDir {
            seen: into.to_owned(),
            real: into.to_owned(),
        });
        self.store.restore(set, &dirs, ".")
    }

    pub(crate) fn collect_with(
        &self,
        name: &str,
        paths: &[&str],
        change: impl FnOnce(&mut CollectRequest<'_>),
    ) -> Result<Collected, ArtifactError> {
        self.collect_in(&self.dirs(), name, paths, change)
    }

    pub(crate) fn collect_in(
        &self,
        dirs: &JobDirs,
        name: &str,
        paths: &[&str],
        change: impl FnOnce(&mut CollectRequest<'_>),
    ) -> Result<Collected, ArtifactError> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let mut request = CollectRequest {
            paths: &paths,
            dirs,
            include_hidden: false,
            overwrite: false,
            job: Some("test".to_owned()),
            attempt: 1,
            bytes_before: 0,
            now: Timestamp::now(),
            keep: None,
        };
        change(&mut request);
        self.store.collect(&self.owner, name, &request)
    }

    pub(crate) fn collect(&self, name: &str, paths: &[&str]) -> Result<Collected, ArtifactError> {
        self.collect_with(name, paths, |_| {})
    }

    /// A set of all files of the job.
    pub(crate) fn set(&self, name: &str) -> ArtifactSet {
        self.collect(name, &["."]).unwrap().set.unwrap()
    }

    /// What was kept, as paths.
    pub(crate) fn kept(&self, paths: &[&str]) -> Vec<String> {
        paths_of(
            &self
                .collect_with("a", paths, |request| request.overwrite = true)
                .unwrap(),
        )
    }

    /// What is left of collects that failed.
    pub(crate) fn staged(&self) -> usize {
        fs::read_dir(self.state().join("artifacts/staging"))
            .unwrap()
            .count()
    }
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

pub(crate) fn paths_of(collected: &Collected) -> Vec<String> {
    let files = collected.set.iter().flat_map(|set| &set.files);
    files.map(|file| file.path.clone()).collect()
}

pub(crate) fn code(error: ArtifactError) -> (String, Option<String>) {
    let problem = Problem::from(error);
    (problem.code, problem.field.map(String::from))
}

pub(crate) fn warnings(collected: &Collected) -> Vec<&str> {
    let codes = collected.warnings.iter().map(|warning| &*warning.code);
    codes.collect()
}

/// Ends what another thread does meanwhile, also where the test fails.
pub(crate) struct DoneOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for DoneOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
