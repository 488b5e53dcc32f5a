//! What starts a pipeline.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::expression::ExprValue;

/// The events that start something here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    Push,
    PullRequest,
    MergeGroup,
    Schedule,
    WorkflowDispatch,
}

impl EventKind {
    pub const ALL: [Self; 5] = [
        Self::Push,
        Self::PullRequest,
        Self::MergeGroup,
        Self::Schedule,
        Self::WorkflowDispatch,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Push => "push",
            Self::PullRequest => "pull_request",
            Self::MergeGroup => "merge_group",
            Self::Schedule => "schedule",
            Self::WorkflowDispatch => "workflow_dispatch",
        }
    }
}

/// Something that happened, for which a workflow may have jobs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowEvent {
    pub kind: EventKind,
    /// What the jobs are at, such as `refs/heads/main` or `refs/tags/v1`.
    pub git_ref: String,
    /// Of a pull request or merge group: the branch that it is for, without `refs/heads/`.
    pub base_ref: Option<String>,
    /// Of a pull request: the branch that it comes from.
    pub head_ref: Option<String>,
    /// `opened`, `synchronize` and so on.
    pub activity: Option<String>,
    /// The schedule that is due.
    pub cron: Option<String>,
    /// The files that changed. Without them every filter of paths matches, as on GitHub for a change too large.
    pub changed_paths: Option<Vec<String>>,
    /// Of `workflow_dispatch`.
    pub inputs: BTreeMap<String, String>,
    /// Whether a caller asked for it by the name of the file: its filters do not count then.
    #[serde(default)]
    pub is_asked: bool,
    /// `github.event`.
    pub payload: ExprValue,
}

impl WorkflowEvent {
    /// An event of this kind at a ref, and nothing else known of it.
    pub fn new(kind: EventKind, git_ref: impl Into<String>) -> Self {
        Self {
            kind,
            git_ref: git_ref.into(),
            base_ref: None,
            head_ref: None,
            activity: None,
            cron: None,
            changed_paths: None,
            inputs: BTreeMap::new(),
            is_asked: false,
            payload: ExprValue::object::<String>([]),
        }
    }
}
