//! Pipelines on disk: a directory each, with the frozen plan, the record, the journal and a directory for each attempt at
//! a job. They are the truth; everything else is made from them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::action::{ActionScope, PendingCache};
use crate::bisect::BisectPlan;
use crate::job_end::JobEnd;
use branchyard_config::Setup;
use branchyard_model::{
    AnsweredBy, PipelineId, PipelineRecord, RunId, StepRecord, TestReport, Warning,
};
use branchyard_runs::stop_note;
use branchyard_runtime::disk::{Trash, create_private_dir, read_json, write_json};
use branchyard_workflow::{WorkflowEvent, WorkflowPlan};

const PLAN: &str = "plan.json";
const RECORD: &str = "pipeline.json";
const ATTEMPT: &str = "attempt.json";
const TESTS: &str = "tests.json";

#[derive(Debug)]
pub(crate) struct PipelineDisk {
    dir: PathBuf,
    tmp: PathBuf,
    trash: Trash,
}

/// What a pipeline does, frozen when it was asked for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct FrozenPlan {
    /// The workflow file, as it was: the rows of a matrix may be made of it later.
    pub(crate) text: String,
    /// The files of the actions that it uses, by their paths.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) actions: BTreeMap<String, String>,
    pub(crate) event: WorkflowEvent,
    pub(crate) plan: WorkflowPlan,
    /// By whose limits its steps count.
    pub(crate) account: String,
    /// Whether the commit is what the remote has on a protected branch.
    #[serde(default)]
    pub(crate) is_protected: bool,
    /// Whether the commit was the newest that the remote had for the branch, and so may be given secrets.
    #[serde(default)]
    pub(crate) is_remote_tip: bool,
    /// Whether who asked may see all branches of the repo, and so be answered by jobs of any.
    #[serde(default)]
    pub(crate) sees_all: bool,
    /// What sets the worktrees of its jobs up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) setup: Option<Setup>,
    /// Of a bisect, which has no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) bisect: Option<BisectPlan>,
}

/// How far an attempt at a job has come. It is on disk before anything that it says has an effect.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Attempt {
    /// The number of its scratch worktree; none before it has one, and of a job that was answered.
    pub(crate) scratch: Option<u32>,
    /// The concurrency group that it is the first in.
    pub(crate) group: Option<String>,
    /// Whether the worktree is at the commit.
    pub(crate) is_prepared: bool,
    pub(crate) setup: SetupProgress,
    pub(crate) started_at: Option<Timestamp>,
    /// What the job is called, and whether the pipeline may succeed without it, as far as only a running job knows.
    pub(crate) name: Option<String>,
    pub(crate) continue_on_error: bool,
    pub(crate) steps: Vec<StepProgress>,
    /// What steps wrote to `GITHUB_ENV` and `GITHUB_PATH`.
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) search: Vec<String>,
    /// The names of its artifacts, and the caches that it saves if it succeeds.
    pub(crate) artifacts: Vec<String>,
    pub(crate) caches: Vec<PendingCache>,
    /// The digests of the caches that were restored.
    pub(crate) restored: Vec<String>,
    pub(crate) warnings: Vec<Warning>,
    /// The outputs of the job, once it has ended.
    pub(crate) outputs: BTreeMap<String, String>,
    pub(crate) end: Option<JobEnd>,
    /// Until when its worktree is held after that.
    pub(crate) held_until: Option<Timestamp>,
    /// The digest of all that it sees but the outputs of its set-up, as it was before its steps.
    pub(crate) sees: Option<String>,
    /// The digest of all that it sees, if it may answer for others.
    pub(crate) key: Option<String>,
    /// The job that answered for it.
    pub(crate) answered_by: Option<AnsweredBy>,
}

/// How far the set-up of a job's worktree has come.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SetupProgress {
    /// Whether there is nothing for its commands to do.
    pub(crate) is_copied: bool,
    /// All that decided what its outputs are, when it began.
    pub(crate) key: Option<String>,
    /// What its commands find, as a digest of its inputs.
    pub(crate) inputs: Option<String>,
    /// What stands for its outputs, where they are kept.
    pub(crate) id: Option<String>,
}

/// A step, and what is known of it beyond what its record shows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StepProgress {
    #[serde(flatten)]
    pub(crate) record: StepRecord,
    /// The id of the run that it is to have, made before any step starts: a run that is not on disk was never started.
    pub(crate) minted: Option<RunId>,
    /// It began after the job was told to stop, to tidy up, and is not told.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_tidying: bool,
    #[serde(default)]
    pub(crate) outputs: BTreeMap<String, String>,
    /// Of a step that uses a composite action, once that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<ActionScope>,
}

/// The directories of an attempt.
#[derive(Debug, Clone)]
pub(crate) struct AttemptDirs {
    home: PathBuf,
    tmp: PathBuf,
    files: PathBuf,
    dir: PathBuf,
}

impl PipelineDisk {
    pub(crate) fn open(state: &Path, trash: Trash) -> io::Result<Self> {
        let dir = state.join("pipelines");
        fs::create_dir_all(&dir)?;
        Ok(Self {
            dir,
            tmp: state.join("tmp"),
            trash,
        })
    }

    pub(crate) fn home(&self, id: PipelineId) -> PathBuf {
        self.dir.join(id.to_string())
    }

    pub(crate) fn journal(&self, id: PipelineId) -> PathBuf {
        self.home(id).join("journal")
    }

    /// All that are on disk, in the order in which they were asked for.
    pub(crate) fn ids(&self) -> Vec<PipelineId> {
        let mut ids: Vec<_> = fs::read_dir(&self.dir)
            .into_iter()
            .flatten()
            .filter_map(|entry| PipelineId::parse(entry.ok()?.file_name().to_str()?).ok())
            .collect();
        ids.sort_unstable();
        ids
    }

    pub(crate) fn create(&self, id: PipelineId) -> io::Result<()> {
        create_private_dir(&self.home(id))?;
        create_private_dir(&self.home(id).join("jobs"))
    }

    pub(crate) fn save_plan(&self, id: PipelineId, plan: &FrozenPlan) -> io::Result<()> {
        write_json(&self.home(id).join(PLAN), plan)
    }

    pub(crate) fn plan(&self, id: PipelineId) -> io::Result<Option<FrozenPlan>> {
        read_json(&self.home(id).join(PLAN))
    }

    pub(crate) fn save(&self, record: &PipelineRecord) -> io::Result<()> {
        write_json(&self.home(record.pipeline_id).join(RECORD), record)
    }

    pub(crate) fn load(&self, id: PipelineId) -> io::Result<Option<PipelineRecord>> {
        read_json(&self.home(id).join(RECORD))
    }

    /// A retry begins without the cancel of the attempt before.
    pub(crate) fn forget_stop(&self, id: PipelineId) -> io::Result<()> {
        stop_note::remove(&self.home(id))
    }

    pub(crate) fn remove(&self, id: PipelineId) -> io::Result<()> {
        self.trash.take(&self.home(id), &"pipeline")
    }

    fn attempt_dir(&self, id: PipelineId, job: &str, attempt: u32) -> PathBuf {
        // A job's id is letters, digits, `-`, `_` and `.`, and never only dots.
        let job = self.home(id).join("jobs").join(job);
        job.join(attempt.to_string())
    }

    pub(crate) fn attempt(
        &self,
        id: PipelineId,
        job: &str,
        attempt: u32,
    ) -> io::Result<Option<Attempt>> {
        read_json(&self.attempt_dir(id, job, attempt).join(ATTEMPT))
    }

    pub(crate) fn save_attempt(
        &self,
        id: PipelineId,
        (job, number): (&str, u32),
        attempt: &Attempt,
    ) -> io::Result<()> {
        write_json(&self.made_dir(id, job, number)?.join(ATTEMPT), attempt)
    }

    fn made_dir(&self, id: PipelineId, job: &str, number: u32) -> io::Result<PathBuf> {
        let dir = self.attempt_dir(id, job, number);
        // Of a later attempt, only its own is missing.
        for missing in [dir.parent().unwrap_or(&dir), &dir] {
            if !missing.is_dir() {
                create_private_dir(missing)?;
            }
        }
        Ok(dir)
    }

    pub(crate) fn save_tests(
        &self,
        id: PipelineId,
        (job, attempt): (&str, u32),
        report: &TestReport,
    ) -> io::Result<()> {
        write_json(&self.made_dir(id, job, attempt)?.join(TESTS), report)
    }

    /// The tests of an attempt; none where they are not known.
    pub(crate) fn tests(
        &self,
        id: PipelineId,
        (job, attempt): (&str, u32),
    ) -> io::Result<Option<TestReport>> {
        read_json(&self.attempt_dir(id, job, attempt).join(TESTS))
    }

    /// The directories that the steps of an attempt share. Their place for temporary files has a short path, for a socket's
    /// address in it has a hundred bytes in all.
    pub(crate) fn dirs(
        &self,
        id: PipelineId,
        (job, number): (&str, u32),
        nth: usize,
    ) -> AttemptDirs {
        let dir = self.attempt_dir(id, job, number);
        AttemptDirs {
            home: dir.join("home"),
            files: dir.join("files"),
            tmp: self.tmp.join(format!("{}-{nth}-{number}", id.short())),
            dir,
        }
    }

    /// Removes what the steps of an attempt had to themselves.
    pub(crate) fn discard(&self, dirs: &AttemptDirs) {
        for dir in [&dirs.home, &dirs.tmp, &dirs.files, &dirs.masks()] {
            let is_there = dir.symlink_metadata().is_ok();
            if is_there && let Err(error) = self.trash.take(dir, &"attempt") {
                tracing::warn!(dir = %dir.display(), %error, "files of a job's attempt stay");
            }
        }
    }
}

impl AttemptDirs {
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    pub(crate) fn tmp(&self) -> &Path {
        &self.tmp
    }

    /// What steps write for those after them is there.
    pub(crate) fn files(&self) -> &Path {
        &self.files
    }

    pub(crate) fn make(&self) -> io::Result<()> {
        for dir in [&self.home, &self.tmp, &self.files] {
            fs::create_dir_all(dir)?;
        }
        Ok(())
    }

    pub(crate) fn script(&self, step: usize) -> PathBuf {
        self.dir.join(format!("step-{step}.sh"))
    }

    pub(crate) fn masks(&self) -> PathBuf {
        self.dir.join("masks")
    }

    /// Where one step writes what others are to know. No other step has it in its sandbox: the daemon would follow links that
    /// were there before.
    pub(crate) fn files_of(&self, step: usize) -> PathBuf {
        self.files.join(step.to_string())
    }

    /// What a step wrote for people to read.
    pub(crate) fn summary(&self, step: usize) -> PathBuf {
        self.dir.join(format!("summary-{step}.md"))
    }
}
