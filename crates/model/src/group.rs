//! Runs that were started together: one command on many branches.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    BranchName, CommitId, EndState, GroupId, Idempotency, Problem, RepoName, RunEnd, RunId,
    RunRecord, RunState,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GroupState {
    Running,
    /// Every run of it succeeded.
    Succeeded,
    Failed,
}

impl GroupState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
        }
    }
}

/// A group as everyone sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GroupRecord {
    pub group_id: GroupId,
    pub repo: RepoName,
    /// Who asked.
    pub principal: String,
    pub state: GroupState,
    pub created_at: Timestamp,
    #[serde(default)]
    pub ended_at: Option<Timestamp>,
    /// In the order in which they were queued.
    pub members: Vec<Member>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub idempotency: Option<Idempotency>,
}

/// One branch of a group, and the run that it got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Member {
    pub branch: BranchName,
    pub run_id: RunId,
}

/// A member whose command has started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberStarted {
    #[serde(flatten)]
    pub member: Member,
    pub commit: Option<CommitId>,
}

/// A member that has ended, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MemberEnded {
    #[serde(flatten)]
    pub member: Member,
    #[serde(flatten)]
    pub end: RunEnd,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<Problem>,
}

/// The end of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub state: GroupState,
    #[serde(default)]
    pub total: usize,
    /// How many ended in which state.
    #[serde(default)]
    pub counts: BTreeMap<String, usize>,
    #[serde(default)]
    pub duration_ms: u64,
    /// In the order in which they were queued.
    #[serde(default)]
    pub results: Vec<MemberEnded>,
}

impl MemberEnded {
    /// `None` if the run has not ended.
    pub fn of(member: &Member, run: &RunRecord) -> Option<Self> {
        let RunState::Ended(state) = run.state else {
            return None;
        };
        Some(Self {
            member: member.clone(),
            end: RunEnd::of(run, state),
            error: run.error.clone(),
        })
    }

    /// A member of which there is nothing on disk any more.
    pub fn lost(member: &Member) -> Self {
        Self {
            member: member.clone(),
            end: RunEnd {
                state: EndState::Lost,
                reason: Some("its record is gone".to_owned()),
                ..RunEnd::default()
            },
            error: None,
        }
    }
}

impl Summary {
    pub fn of(results: Vec<MemberEnded>, duration_ms: u64) -> Self {
        let mut counts = BTreeMap::new();
        let states = || results.iter().map(|result| result.end.state);
        for state in states() {
            *counts.entry(state.as_str().to_owned()).or_default() += 1;
        }
        let all_well = states().all(|state| state == EndState::Succeeded);
        Self {
            state: match all_well {
                true => GroupState::Succeeded,
                false => GroupState::Failed,
            },
            total: results.len(),
            counts,
            duration_ms,
            results,
        }
    }
}

impl GroupRecord {
    /// The record as others may see it.
    #[must_use]
    pub fn shown(mut self) -> Self {
        self.idempotency = None;
        self
    }
}
