//! Workflow files: a strict subset of GitHub Actions, as docs/PIPELINES.md says. No I/O happens here.

mod check;
mod event;
mod expression;
mod fault;
mod glob;
mod local;
mod options;
mod plan;
mod read;
mod workflow;
mod yaml;

pub use event::{EventKind, WorkflowEvent};
pub use expression::{
    ALL_VARIABLES, EvalContext, ExprFault, ExprObject, ExprValue, HashFiles, JobStatus, condition,
    evaluate, is_plain, render, render_variables,
};
pub use fault::{FaultCode, MAX_FAULTS, WorkflowFault};
pub use local::ActionFiles;
pub use options::WorkflowOptions;
pub use plan::{
    PlanFacts, Planned, PlannedConcurrency, PlannedJob, PlannedStep, PlannedStrategy, ScriptFault,
    SkipReason, StepAction, WorkflowPlan, render_script,
};
pub use read::{
    BuiltIn, JobExtras, KeySupport, RetryRule, SupportRow, action_support_table, support_table,
};
pub use workflow::{Workflow, check};
