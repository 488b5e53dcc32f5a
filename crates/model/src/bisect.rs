//! A bisect: the search for the first bad commit between two. It is a pipeline whose jobs test one commit each.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CommitId, RunId};

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

impl BisectCommit {
    pub fn in_words(&self) -> String {
        let short: String = self.commit.as_str().chars().take(10).collect();
        format!("{short} ({})", self.subject)
    }
}
