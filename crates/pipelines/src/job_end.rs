//! How an attempt at a job ended.

use serde::{Deserialize, Serialize};

use branchyard_model::{JobState, Problem};
use branchyard_workflow::ExprFault;

/// How an attempt at a job ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct JobEnd {
    pub(crate) state: JobState,
    #[serde(default)]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) error: Option<Box<Problem>>,
}

impl JobEnd {
    pub(crate) fn of(state: JobState, reason: Option<String>) -> Self {
        Self {
            state,
            reason,
            error: None,
        }
    }

    pub(crate) fn rejected(problem: Problem) -> Self {
        Self {
            state: JobState::Rejected,
            reason: None,
            error: Some(Box::new(problem.outward())),
        }
    }

    /// Rejected for an expression that has no value.
    pub(crate) fn invalid(what: &str, fault: &ExprFault) -> Self {
        let problem = Problem::unprocessable("file", format!("{what}: {fault}"));
        Self::rejected(problem)
    }
}
