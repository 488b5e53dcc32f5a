//! Pipelines: what a workflow file makes of one event at one commit. Its plan is frozen when it is asked for; its jobs run in
//! scratch worktrees, step by step, each step as a run. All of it is on disk before it has an effect, so that a daemon that is
//! killed leaves nothing out and starts nothing twice.

mod action;
mod action_files;
mod adopt;
mod artifact_steps;
pub mod artifacts;
mod bisect;
mod cache_steps;
mod concurrency;
mod context;
mod disk;
mod drive;
mod env_files;
mod event_file;
mod forecast;
mod hash_files;
mod held;
mod held_worktrees;
mod job;
mod job_end;
mod job_runner;
mod job_secrets;
mod job_tests;
mod list;
mod live;
mod open;
mod own_keys;
mod pipelines;
mod planned;
mod regular;
mod request;
mod retry;
mod reuse;
mod reuse_places;
mod set_up;
mod source;
mod start;
mod step;
mod step_env;
mod trigger;
mod uses;
mod versions;
mod workflow_files;

pub use bisect::BisectRequest;
pub use forecast::forecast;
pub use held::held_worktree;
pub use job_tests::job_tests;
pub use list::PipelineFilter;
pub use live::LivePipeline;
pub use open::{PipelineParts, open, open_artifacts};
pub use pipelines::{Pipelines, pipeline_not_found};
pub use request::{InputText, PipelineRequest};
pub use retry::RetryRequest;
pub use source::{PipelineCommit, commit as find_commit, commit_of_named as find_named};
pub use trigger::{Trigger, start_for, workflows};
