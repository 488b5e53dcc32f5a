//! Expressions of GitHub Actions: parsed by `github-actions-expressions`, evaluated here as the official packages do.

mod budget;
mod coerce;
mod context;
mod evaluate;
mod fault;
mod functions;
mod mentions;
mod syntax;
mod template;
mod value;
mod variables;

pub(crate) use budget::ExprBudget;
pub(crate) use coerce::{number_text, to_number, to_text};
pub use context::{EvalContext, HashFiles, JobStatus};
pub use evaluate::evaluate;
pub use fault::ExprFault;
pub(crate) use mentions::{Mention, Mentions, flowing};
pub(crate) use syntax::parse;
pub(crate) use template::{TemplatePart, condition_text, parts, render_value};
pub use template::{condition, is_plain, render};
pub use value::{ExprObject, ExprValue};
pub(crate) use variables::is_variable_name;
pub use variables::{ALL_VARIABLES, render_variables};
