//! The frozen plan. It says all that a pipeline does, and is stored as it is.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::EventKind;
use crate::expression::ExprValue;
use crate::read::{BuiltIn, JobExtras};

/// A value that is known now, or a text with expressions for when the job or step runs.
///
/// They are kept apart, so that text from outside which looks like an expression is never evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planned<T> {
    Value(T),
    Template(String),
}

/// What one file makes of one event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowPlan {
    pub file: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_name: Option<String>,
    pub event: EventKind,
    /// The contexts that all jobs share: `github`, `inputs` and `vars`.
    pub contexts: BTreeMap<String, ExprValue>,
    /// As every `env`: by name, or `ALL_VARIABLES` with the template that makes all of them.
    pub env: BTreeMap<String, Planned<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<PlannedConcurrency>,
    pub jobs: Vec<PlannedJob>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedConcurrency {
    pub group: Planned<String>,
    pub cancel_in_progress: Planned<bool>,
    /// Whether only the newest waits; else all do.
    pub is_single: bool,
}

/// Why a job is not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// It asks for another system than Linux.
    RunsOn,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedStrategy {
    pub fail_fast: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_parallel: Option<u32>,
    /// Which row of the matrix this is, from 0, and of how many.
    pub index: usize,
    pub total: usize,
    /// The row: the context `matrix`.
    pub matrix: ExprValue,
}

impl PlannedStrategy {
    /// The context `strategy`.
    pub fn context(&self) -> ExprValue {
        let number =
            |number: usize| ExprValue::Number(u32::try_from(number).map_or(f64::NAN, f64::from));
        let most = self.max_parallel.map_or_else(
            || number(self.total),
            |most| ExprValue::Number(f64::from(most)),
        );
        ExprValue::object([
            ("fail-fast", ExprValue::Bool(self.fail_fast)),
            ("job-index", number(self.index)),
            ("job-total", number(self.total)),
            ("max-parallel", most),
        ])
    }
}

/// A job, or one row of its matrix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedJob {
    /// No two jobs of a plan have the same.
    pub id: String,
    /// The key in the file. `needs` names these.
    pub job: String,
    pub name: Planned<String>,
    pub needs: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<SkipReason>,
    /// Whether its matrix is made of outputs of jobs that it needs: `Workflow::expand` makes its rows then.
    #[serde(default)]
    pub is_deferred: bool,
    pub runs_on: Planned<Vec<String>>,
    pub strategy: PlannedStrategy,
    pub env: BTreeMap<String, Planned<String>>,
    pub timeout_minutes: Planned<f64>,
    pub continue_on_error: Planned<bool>,
    /// Templates for when the job has ended.
    pub outputs: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<PlannedConcurrency>,
    pub steps: Vec<PlannedStep>,
    /// The secrets that it names; `GITHUB_TOKEN` for `github.token` too, and `*` where it takes all.
    pub secrets: Vec<String>,
    /// Whether its result depends on the commit or ref, and not only on files.
    pub mentions_commit: bool,
    #[serde(flatten)]
    pub extras: JobExtras,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepAction {
    /// A command that sets the worktree up, which no file has: it comes before the steps of the file.
    SetUp {
        argv: Vec<String>,
    },
    Run {
        script: Planned<String>,
        /// Program and arguments; `{0}` in one of them stands for the file of the script.
        shell: Vec<String>,
        background: bool,
    },
    Uses {
        action: BuiltIn,
        uses: String,
    },
    /// A composite action of the same commit. Its steps come next, up to the one with the number `last`; `with` has all of
    /// its inputs.
    Composite {
        uses: String,
        /// Empty for the root of the commit.
        directory: String,
        last: usize,
        /// Templates for when its steps are through.
        outputs: BTreeMap<String, String>,
    },
    /// Left out, because the operator says so.
    Skipped {
        uses: String,
    },
    Wait {
        steps: Vec<String>,
    },
    WaitAll,
    Cancel {
        step: String,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// From 1.
    pub number: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub name: Planned<String>,
    /// Of a step of a composite action: the number of the step that uses it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<usize>,
    /// The line of the file.
    pub line: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    pub action: StepAction,
    pub with: BTreeMap<String, Planned<String>>,
    pub env: BTreeMap<String, Planned<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<Planned<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_minutes: Option<Planned<f64>>,
    pub continue_on_error: Planned<bool>,
    /// What may be text from outside, such as `steps.title.outputs`: `render_script` takes it only if it is plain.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
}

impl PlannedStep {
    /// Moves it back by so many steps, which come before all others of its job.
    pub fn move_back(&mut self, by: usize) {
        self.number += by;
        self.within = self.within.map(|number| number + by);
        if let StepAction::Composite { last, .. } = &mut self.action {
            *last += by;
        }
    }
}
