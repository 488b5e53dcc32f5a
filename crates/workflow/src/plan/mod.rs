//! A checked file and an event into a frozen plan.

mod action;
mod build;
mod context;
mod facts;
mod inputs;
mod job;
mod matches;
mod matrix;
mod model;
mod outside;
mod resolve;
mod rows;
mod script;
mod shell;
mod step;
mod texts;

pub use facts::PlanFacts;
pub use model::{
    Planned, PlannedConcurrency, PlannedJob, PlannedStep, PlannedStrategy, SkipReason, StepAction,
    WorkflowPlan,
};
pub use script::{ScriptFault, render_script};
