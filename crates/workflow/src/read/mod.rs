//! A file into its model: which keys it has, and whether each has a value of the right kind.

mod action;
mod actions;
mod concurrency;
mod cron;
mod extras;
mod file;
mod job;
mod keys;
mod labels;
mod model;
mod own_keys;
mod reader;
mod step;
mod strategy;
mod suggest;
mod triggers;

pub(crate) use action::read_action;
pub use actions::BuiltIn;
pub use extras::{JobExtras, RetryRule};
pub(crate) use file::read_file;
pub(crate) use job::MAX_JOBS;
pub use keys::{KeySupport, SupportRow, action_support_table, support_table};
pub(crate) use labels::is_linux;
pub(crate) use model::{
    ActionModel, AxisModel, ConcurrencyModel, DefaultsModel, FileModel, InputKind, InputModel,
    JobModel, MatrixModel, StepBody, StepModel, TextAt, TriggerModel,
};
pub(crate) use reader::Reader;
pub(crate) use step::{foreign_shell, refuse_shell};
pub(crate) use suggest::suggestion;
