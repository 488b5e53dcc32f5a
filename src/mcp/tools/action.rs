//! Tools that do one of several things, and fields that are for one of them alone.

use branchyard_model::Problem;

/// Refuses a field that was given though the action has no use for it: whoever gave it means something
/// else than what would be done.
pub(super) fn only_for(
    field: &str,
    is_given: bool,
    actions: &str,
    is_one_of_them: bool,
) -> Result<(), Problem> {
    if is_given && !is_one_of_them {
        let detail = format!("{field} is for {actions} alone");
        return Err(Problem::unprocessable(field, detail));
    }
    Ok(())
}

/// The field, which this action cannot do without.
pub(super) fn needed<T>(field: &str, value: Option<T>, action: &str) -> Result<T, Problem> {
    value.ok_or_else(|| Problem::unprocessable(field, format!("{action} needs {field}")))
}
