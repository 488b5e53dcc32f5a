//! Tools that do one of several things, and fields that are for one of them alone.

use serde::Serialize;
use serde_json::json;

use branchyard_model::Problem;

/// Refuses a field that was given though the action is none of `actions`, such as "list and show": the caller
/// means something else than what would be done.
pub(super) fn only_for(
    field: &str,
    is_given: bool,
    actions: &str,
    action: impl Serialize,
) -> Result<(), Problem> {
    let (action, mut names) = (json!(action), actions.split([' ', ',']));
    if is_given && !names.any(|name| action == name) {
        let detail = format!("{field} is for {actions} alone");
        return Err(Problem::unprocessable(field, detail));
    }
    Ok(())
}

/// The field, which this action cannot do without.
pub(super) fn needed<T>(field: &str, value: Option<T>, action: &str) -> Result<T, Problem> {
    value.ok_or_else(|| Problem::unprocessable(field, format!("{action} needs {field}")))
}
