//! What the stream of a group says of its runs.

use serde::Deserialize;

use super::run_error::RunError;

use crate::cli::finding::Findings;
use branchyard_model::{GroupId, RunId};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GroupEvent {
    /// The first: which runs there are.
    Named(Group),
    /// A run's command has started.
    Started(Member),
    /// A run has ended.
    Ended(Box<MemberEnded>),
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Group {
    pub group_id: GroupId,
    pub members: Vec<Member>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Member {
    pub branch: String,
    pub run_id: RunId,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct MemberEnded {
    #[serde(flatten)]
    pub member: Member,
    pub state: String,
    #[serde(default)]
    pub exit_code: Option<i32>,
    #[serde(default)]
    pub signal: Option<i32>,
    #[serde(default)]
    pub duration_ms: Option<u64>,
    #[serde(default)]
    pub incremental: Option<bool>,
    #[serde(default)]
    pub reason: Option<String>,
    /// Why it was refused.
    #[serde(default)]
    pub error: Option<RunError>,
    #[serde(default)]
    pub diagnostics: Option<Findings>,
}

/// The last event.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Summary {
    pub state: String,
    #[serde(default)]
    pub duration_ms: Option<u64>,
    /// In the order in which they were asked for.
    #[serde(default)]
    pub results: Vec<MemberEnded>,
}

impl MemberEnded {
    /// What is most worth knowing about an end that is no success.
    pub(crate) fn because(&self) -> Option<String> {
        let error = self.error.as_ref().map(|error| error.detail.clone());
        let finding = self.diagnostics.as_ref().and_then(Findings::first_error);
        error
            .or_else(|| finding.map(ToString::to_string))
            .or_else(|| self.reason.clone())
    }
}
