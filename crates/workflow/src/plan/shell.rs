//! Shells that only other systems have, in the rows of a job that run here.

use super::context::is_later;
use super::resolve::Resolver;
use crate::expression::{
    EvalContext, ExprValue, JobStatus, Mention, Mentions, condition, condition_text, parse,
};
use crate::read::{DefaultsModel, JobModel, StepBody, TextAt, foreign_shell, refuse_shell};

/// How a job can stand before a step.
const STATUSES: [JobStatus; 3] = [JobStatus::Success, JobStatus::Failure, JobStatus::Cancelled];

/// Refuses them, but in steps whose `if` never holds in this row, such as `runner.os == 'Windows'`.
pub(super) fn check_shells(
    resolver: &mut Resolver<'_, '_, '_>,
    job: &JobModel,
    file: &DefaultsModel,
) {
    let runner = ExprValue::object([("os", ExprValue::text("Linux"))]);
    let context = resolver.context().clone().with("runner", runner);
    for step in &job.steps {
        let StepBody::Run { shell, .. } = &step.body else {
            continue;
        };
        let shells = [shell, &job.defaults.shell, &file.shell];
        let Some(shell) = shells.into_iter().flatten().next() else {
            continue;
        };
        if let Some(program) = foreign_shell(&shell.text)
            && !is_never_run(step.condition.as_ref(), &context)
        {
            refuse_shell(resolver.faults(), shell, program);
        }
    }
}

/// Whether an `if` is known to be false, whatever happens before its step. One that cannot be evaluated yet is not.
fn is_never_run(text: Option<&TextAt>, context: &EvalContext<'_>) -> bool {
    let Some(text) = text.map(|text| text.text.as_str()) else {
        return false;
    };
    let Ok(Some((inner, _))) = condition_text(text) else {
        return false;
    };
    let is_open = |mention: &Mention| {
        let path: Vec<_> = mention.path.iter().map(String::as_str).collect();
        is_later(mention) || (path[0] == "runner" && !path.starts_with(&["runner", "os"]))
    };
    let is_open = parse(inner).map_or(true, |tree| {
        Mentions::of(&tree).contexts.iter().any(is_open)
    });
    let is_false = |status| {
        let context = context.clone().with_status(status);
        condition(Some(text), &context) == Ok(false)
    };
    !is_open && STATUSES.into_iter().all(is_false)
}
