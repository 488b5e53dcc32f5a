//! A pipeline: what one workflow file makes of one event at one commit.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BisectRecord, BisectTest, BisectVerdict, BranchName, CommitId, Idempotency, PipelineId,
    Problem, RepoName, RunId, TestCounts, Warning,
};

/// The exit code by which a command says that a commit cannot be tested, as for `git bisect run`.
const SKIP: i32 = 125;
/// The greatest exit code that says anything of the commit: the others are a shell's for a signal.
const GREATEST: i32 = 127;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PipelineState {
    /// No job of it has started.
    #[default]
    Queued,
    Running,
    Succeeded,
    Failed,
    Cancelled,
    /// Its file is wrong, or cannot be run here.
    Rejected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// It needs jobs that have not ended.
    #[default]
    Blocked,
    /// Its concurrency group is taken.
    Waiting,
    /// It waits for a scratch worktree or a slot.
    Queued,
    Running,
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
    /// Its supervisor or the machine went down.
    Lost,
    /// It cannot be run here.
    Rejected,
    /// `reason` says why: `needs`, `when` or `runs_on`.
    Skipped,
    /// An earlier job with the same inputs answers for it.
    Reused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepState {
    #[default]
    Pending,
    Running,
    Succeeded,
    Failed,
    TimedOut,
    Cancelled,
    Lost,
    /// It could not be started.
    Rejected,
    Skipped,
}

/// What is built: a commit, or a snapshot of the files of a workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PipelineSource {
    #[default]
    Commit,
    Workspace,
}

/// A pipeline as everyone sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PipelineRecord {
    pub pipeline_id: PipelineId,
    pub repo: RepoName,
    /// Who may see the branch may see the pipeline. Of a tag `tags/NAME`, of a pull request `pull/NUMBER`.
    pub branch: BranchName,
    /// What was built, as git names it: `refs/heads/main`, `refs/tags/v1.2`, `refs/pull/7/head`.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub git_ref: Option<String>,
    pub commit: CommitId,
    pub tree: CommitId,
    #[serde(default)]
    pub source: PipelineSource,
    /// The workflow file; `bisect` where there is none, for it is a bisect.
    pub file: String,
    /// What the file calls itself.
    #[serde(default)]
    pub name: String,
    /// What the file calls this pipeline, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    /// `push`, `pull_request`, `merge_group`, `schedule`, `workflow_dispatch` or `bisect`.
    pub event: String,
    /// Who asked; `push`, `hook`, `poll` or `schedule` where it was started by itself.
    pub principal: String,
    /// Of one that was started by itself: what happened, as a digest. No other pipeline has the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<String>,
    pub state: PipelineState,
    /// Rises with each retry.
    pub attempt: u32,
    pub jobs: Vec<JobRecord>,
    /// Why it ended as it did, in words, where the state does not say all.
    #[serde(default)]
    pub reason: Option<String>,
    /// Why it was rejected.
    #[serde(default)]
    pub error: Option<Problem>,
    /// What the caller should know, such as steps that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retried_at: Option<Timestamp>,
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// From the request, or the retry, to the end.
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// What a bisect looks for, and what it found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bisect: Option<BisectRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub idempotency: Option<Idempotency>,
}

/// A job, or one row of its matrix.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct JobRecord {
    /// No two jobs of a pipeline have the same.
    pub job: String,
    /// What the file calls it: `needs` of other jobs has this. All rows of a matrix have the same.
    #[serde(default)]
    pub key: String,
    pub name: String,
    pub state: JobState,
    pub attempt: u32,
    /// How often it was tried again by itself, as `retry` of the job says.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retries: u8,
    /// The jobs that it needs, as the file names them.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The number of its scratch worktree, while it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scratch: Option<u32>,
    /// Why it is in its state, where that does not say all.
    #[serde(default)]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
    #[serde(default)]
    pub steps: Vec<StepRecord>,
    /// The names of its artifacts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<AnsweredBy>,
    /// Until when its scratch worktree is kept, to be looked into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
    /// Whether the pipeline may succeed though this failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continue_on_error: bool,
    /// What the caller should know, such as what its steps report.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    #[serde(default)]
    pub started_at: Option<Timestamp>,
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// Of a bisect: the commit that it tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bisect: Option<BisectTest>,
    /// When it may answer for another job, once it has succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub reusable: Option<ReusableJob>,
}

/// What a job saw, as a digest: another that would see the same need not be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReusableJob {
    pub key: String,
    /// Whether its commit was what the remote has on a protected branch.
    pub is_protected: bool,
}

/// A step of a job.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StepRecord {
    /// From 1.
    pub number: usize,
    pub name: String,
    pub state: StepState,
    /// The run that executes it, of a step that has a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Why it is in its state, where that does not say all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the job went on though this failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub continue_on_error: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
}

/// The job that answers for another with the same inputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredBy {
    pub pipeline: PipelineId,
    pub job: String,
    /// The commit that it was built at.
    pub commit: CommitId,
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl PipelineState {
    pub fn is_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Rejected => "rejected",
        }
    }
}

impl JobState {
    pub fn is_ended(self) -> bool {
        !matches!(
            self,
            Self::Blocked | Self::Waiting | Self::Queued | Self::Running
        )
    }

    /// Whether jobs that need it may start, and the pipeline may succeed.
    pub fn is_success(self) -> bool {
        matches!(self, Self::Succeeded | Self::Reused)
    }

    /// Whether a retry of the pipeline starts it again.
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::Failed | Self::TimedOut | Self::Cancelled | Self::Lost | Self::Rejected
        )
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
            Self::Rejected => "rejected",
            Self::Skipped => "skipped",
            Self::Reused => "reused",
        }
    }
}

impl StepState {
    pub fn is_ended(self) -> bool {
        !matches!(self, Self::Pending | Self::Running)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
            Self::Lost => "lost",
            Self::Rejected => "rejected",
            Self::Skipped => "skipped",
        }
    }
}

impl PipelineRecord {
    /// When this attempt at it began.
    pub fn attempt_began(&self) -> Timestamp {
        self.retried_at.unwrap_or(self.created_at)
    }

    /// The record as others may see it.
    #[must_use]
    pub fn shown(mut self) -> Self {
        self.idempotency = None;
        for job in &mut self.jobs {
            job.reusable = None;
        }
        self
    }
}

impl JobRecord {
    /// What the command of a bisect's job that has ended says; none where it was ended, or never started. A commit that cannot
    /// be set up cannot be tested.
    pub fn verdict(&self) -> Option<BisectVerdict> {
        let (step, set_up) = self.steps.split_last().filter(|_| self.state.is_ended())?;
        if set_up.iter().any(|step| step.state == StepState::Failed) {
            return Some(BisectVerdict::Skip);
        }
        match (step.state, step.exit_code?) {
            (StepState::Succeeded, _) => Some(BisectVerdict::Good),
            (StepState::Failed, SKIP) => Some(BisectVerdict::Skip),
            (StepState::Failed, 1..=GREATEST) => Some(BisectVerdict::Bad),
            _ => None,
        }
    }

    /// Whether a retry of the pipeline attempts it again without being told to. What a bisect knows of a commit stays.
    pub fn is_to_be_retried(&self) -> bool {
        let is_known = self.bisect.as_ref().is_some_and(|it| it.verdict.is_some());
        self.state.is_failure() && !is_known
    }

    /// The run that tests the commit of a job of a bisect.
    pub fn test_run(&self) -> Option<RunId> {
        self.steps.last()?.run_id
    }
}

impl PipelineRecord {
    /// Sums up a bisect that goes on no more. Its jobs are no measure: that one fails is what is looked for.
    pub fn conclude_bisect(&mut self, stopped: Option<String>) {
        let Some(bisect) = &self.bisect else {
            return;
        };
        let answer = bisect.answer.as_ref();
        let found = answer.and_then(|answer| answer.first_bad.as_ref());
        (self.state, self.reason) = match (found, answer, stopped, &self.error) {
            (Some(found), ..) => {
                let reason = format!("the first bad commit is {}", found.in_words());
                (PipelineState::Succeeded, Some(reason))
            }
            (_, _, Some(stopped), _) => (PipelineState::Cancelled, Some(stopped)),
            (_, Some(answer), ..) => {
                let reason = format!(
                    "the first bad commit is one of {}: the others of them cannot be tested",
                    answer.suspects.len()
                );
                (PipelineState::Failed, Some(reason))
            }
            (_, _, _, Some(error)) => (PipelineState::Failed, Some(error.detail.clone())),
            _ => (PipelineState::Failed, None),
        };
    }
}
