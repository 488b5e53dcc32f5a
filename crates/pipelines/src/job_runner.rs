//! One attempt at a job: what it is about, and where it is written down how it goes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::cache_steps::{self, CacheJob};
use crate::disk::{Attempt, AttemptDirs};
use crate::job_end::JobEnd;
use crate::live::{LivePipeline, StopHandle};
use crate::pipelines::Pipelines;
use branchyard_artifacts::{JobDir, JobDirs};
use branchyard_model::{BranchName, CommitId, JobState, Problem};
use branchyard_runs::step::{self, SeenPlaces, StepPlace};
use branchyard_workflow::{ExprValue, PlannedJob};
use branchyard_workspace::ScratchLease;
use branchyard_workspace::repos::Repo;

/// How long after it could not be written how a job goes it is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

/// One attempt at a job.
pub(crate) struct JobRunner<'a> {
    pipelines: &'a Pipelines,
    live: &'a Arc<LivePipeline>,
    nth: usize,
    job: &'a PlannedJob,
    /// Which attempt it is.
    number: u32,
    needs: ExprValue,
    stop: StopHandle,
}

impl<'a> JobRunner<'a> {
    pub(crate) fn new(
        (pipelines, live): (&'a Pipelines, &'a Arc<LivePipeline>),
        (nth, job): (usize, &'a PlannedJob),
        (needs, stop): (ExprValue, StopHandle),
    ) -> Self {
        Self {
            pipelines,
            live,
            nth,
            job,
            number: live.job(&job.id).attempt,
            needs,
            stop,
        }
    }

    pub(crate) fn pipelines(&self) -> &'a Pipelines {
        self.pipelines
    }

    pub(crate) fn live(&self) -> &'a Arc<LivePipeline> {
        self.live
    }

    /// Its place among the jobs of the plan.
    pub(crate) fn nth(&self) -> usize {
        self.nth
    }

    pub(crate) fn job(&self) -> &'a PlannedJob {
        self.job
    }

    /// Which attempt it is.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// The context of that name.
    pub(crate) fn needs(&self) -> &ExprValue {
        &self.needs
    }

    pub(crate) fn stop(&self) -> &StopHandle {
        &self.stop
    }

    /// Where the steps find what they share.
    pub(crate) fn seen(&self, repo: &Repo, lease: &ScratchLease) -> Result<SeenPlaces, JobEnd> {
        let dirs = self.dirs();
        let place = StepPlace {
            worktree: lease.path().to_owned(),
            home: dirs.home().to_owned(),
            tmp: dirs.tmp().to_owned(),
            files: dirs.files().to_owned(),
            script: None,
            working_directory: PathBuf::new(),
        };
        let seen = step::seen_places(&self.pipelines.inner().runs, repo, &place);
        seen.map_err(JobEnd::rejected)
    }

    /// The directories of the job, for artifacts and caches.
    pub(crate) fn job_dirs(&self, lease: &ScratchLease, seen: &SeenPlaces) -> JobDirs {
        let dirs = self.dirs();
        let dir = |seen: &Path, real: &Path| JobDir {
            seen: seen.to_owned(),
            real: real.to_owned(),
        };
        JobDirs {
            root: dir(&seen.worktree, lease.path()),
            home: Some(dir(&seen.home, dirs.home())),
            mounts: vec![dir(&seen.tmp, dirs.tmp())],
        }
    }

    /// The caches that the job may read and write.
    pub(crate) fn caches(&self, repo: &Repo, dirs: JobDirs) -> CacheJob {
        let branch = self.live.look(|record| record.branch.to_string());
        let is_protected = self.live.plan().is_protected;
        let mut protected = repo.protected_patterns();
        // A glob is the name of no branch.
        protected.retain(|name| BranchName::parse(name).is_ok());
        CacheJob {
            store: self.pipelines.inner().caches.clone(),
            repo: repo.name().clone(),
            dirs,
            scopes: cache_steps::scopes(&branch, is_protected, &protected),
        }
    }

    pub(crate) async fn unless_stopped<T>(
        &self,
        wait: impl Future<Output = T>,
    ) -> Result<T, JobEnd> {
        tokio::select! {
            biased;
            () = self.stop.stopped() => Err(JobEnd::of(JobState::Cancelled, self.stop.reason())),
            got = wait => Ok(got),
        }
    }

    pub(crate) fn dirs(&self) -> AttemptDirs {
        let of = (self.job.id.as_str(), self.number);
        self.pipelines
            .inner()
            .disk
            .dirs(self.live.id(), of, self.nth)
    }

    /// The commit that it is at, and its tree.
    pub(crate) fn commit(&self) -> (CommitId, CommitId) {
        match self.live.job(&self.job.id).bisect {
            Some(test) => (test.commit, test.tree),
            None => self
                .live
                .look(|record| (record.commit.clone(), record.tree.clone())),
        }
    }

    pub(crate) fn save(&self, attempt: &Attempt) -> Result<(), Problem> {
        let (disk, margin) = (&self.pipelines.inner().disk, &self.pipelines.inner().margin);
        let of = (self.job.id.as_str(), self.number);
        let saved = margin.spend(|| disk.save_attempt(self.live.id(), of, attempt));
        saved.map_err(|error| {
            let detail = "how the job goes could not be recorded";
            margin.judge(Problem::unwritten("job_not_recorded", detail, &error))
        })
    }

    /// Saves the attempt, however long the disk has no room for it.
    pub(crate) async fn keep(&self, attempt: &Attempt) {
        while let Err(problem) = self.save(attempt) {
            tracing::error!(pipeline = %self.live.id(), job = self.job.id, error = problem.detail, "it is tried again");
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }

    pub(crate) fn unwritten(&self, error: &std::io::Error) -> JobEnd {
        let detail = "the directories of the job could not be made";
        let problem = Problem::unwritten("job_not_recorded", detail, error);
        JobEnd::rejected(self.pipelines.inner().margin.judge(problem))
    }
}
