//! A bisect: the search for the first bad commit between two. It is a pipeline whose jobs test one commit each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CommitId, JobRecord, PipelineRecord, PipelineState, RunId, StepState};

/// The exit code by which a command says that a commit cannot be tested, as for `git bisect run`.
const SKIP: i32 = 125;
/// The greatest exit code that says anything of the commit: the others are a shell's for a signal.
const GREATEST: i32 = 127;

/// What the command said of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BisectVerdict {
    /// It exited with 0.
    Good,
    /// It exited with 1 to 127, but not 125.
    Bad,
    /// It exited with 125: the commit cannot be tested.
    Skip,
    /// It did not say: other commits had answered for this one, and it was stopped.
    Unneeded,
}

/// The commit that a job of a bisect tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BisectTest {
    pub commit: CommitId,
    pub tree: CommitId,
    /// From 1. The first round tests the two ends too.
    pub round: u32,
    /// None before the command has ended, and where it says nothing of the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<BisectVerdict>,
}

/// What a bisect looks for, how far it is, and what it found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BisectRecord {
    pub good: CommitId,
    pub bad: CommitId,
    /// The task whose command it is, if it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    pub argv: Vec<String>,
    /// Only commits that change these are looked at; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// How many commits are tested at the same time.
    pub parallel: usize,
    /// How many commits may be the first bad one, at the start and by now.
    pub commits: usize,
    pub left: usize,
    /// How many rounds have begun.
    pub rounds: u32,
    #[serde(default)]
    pub answer: Option<BisectAnswer>,
}

/// What a bisect found.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct BisectAnswer {
    /// None where skipped commits leave several.
    pub first_bad: Option<BisectCommit>,
    /// Why it is the first: its parents are good.
    #[serde(default)]
    pub good_parents: Vec<GoodParent>,
    /// Where skipped commits leave several, all that may be the first bad one, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspects: Vec<BisectCommit>,
    /// What could not be tested.
    #[serde(default)]
    pub skipped: Vec<BisectCommit>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BisectCommit {
    pub commit: CommitId,
    /// The first line of its message.
    pub subject: String,
    /// The run that tested it, if one did.
    #[serde(default)]
    pub run_id: Option<RunId>,
}

/// A parent of the first bad commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GoodParent {
    pub commit: CommitId,
    /// The commit that tested good: the parent itself, or one that has it in its history.
    pub tested: CommitId,
    #[serde(default)]
    pub run_id: Option<RunId>,
}

impl BisectVerdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
            Self::Skip => "skip",
            Self::Unneeded => "unneeded",
        }
    }

    /// What the command of a job that has ended says; none where it was ended, or never started.
    pub fn of(job: &JobRecord) -> Option<Self> {
        let step = job.steps.first().filter(|_| job.state.is_ended())?;
        match (step.state, step.exit_code?) {
            (StepState::Succeeded, _) => Some(Self::Good),
            (StepState::Failed, SKIP) => Some(Self::Skip),
            (StepState::Failed, 1..=GREATEST) => Some(Self::Bad),
            _ => None,
        }
    }
}

impl BisectTest {
    /// The same commit, before it is tested again.
    #[must_use]
    pub fn again(self) -> Self {
        Self {
            verdict: None,
            ..self
        }
    }
}

impl JobRecord {
    /// Whether a retry of the pipeline attempts it again without being told to. What a bisect knows of a commit stays.
    pub fn is_to_be_retried(&self) -> bool {
        let is_known = self.bisect.as_ref().is_some_and(|it| it.verdict.is_some());
        self.state.is_failure() && !is_known
    }

    /// The run that tests the commit of a job of a bisect.
    pub fn test_run(&self) -> Option<RunId> {
        self.steps.first()?.run_id
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

impl BisectCommit {
    pub fn in_words(&self) -> String {
        let short: String = self.commit.as_str().chars().take(10).collect();
        format!("{short} ({})", self.subject)
    }
}
