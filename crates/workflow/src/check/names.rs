//! Whether what an expression names exists.

use std::collections::BTreeSet;

use super::rules::{self, TextRule};
use crate::expression::Mention;
use crate::local::{LocalAction, LocalActions};
use crate::read::{AxisModel, FileModel, JobModel, MatrixModel, StepBody, StepModel, suggestion};
use crate::yaml::YamlKind;

/// No message lists more names.
const MAX_LISTED: usize = 30;

/// What can be named at a place: all of the file, and in a job or an action what it has and the steps before.
pub(super) struct NameScope<'m> {
    /// None in an action: several files may use it.
    pub file: Option<&'m FileModel>,
    pub actions: &'m LocalActions,
    pub job: Option<&'m JobModel>,
    pub action: Option<&'m LocalAction>,
    /// The keys of the job's matrix, or none if an expression makes some of them.
    pub matrix_keys: Option<BTreeSet<String>>,
    pub steps: &'m [StepModel],
    /// How many of the steps are before this one.
    pub steps_before: usize,
}

/// What is wrong with a mention, if anything is.
pub(super) fn fault_of(
    mention: &Mention,
    rule: &TextRule,
    scope: &NameScope<'_>,
) -> Option<String> {
    let path: Vec<&str> = mention.path.iter().map(String::as_str).collect();
    let (context, rest) = path.split_first()?;
    if !rule.contexts.contains(context) {
        let here = rule.contexts.join(", ");
        return Some(if rules::CONTEXTS.contains(context) {
            format!("`{context}` is not known at this place; there are: {here}")
        } else {
            let hint = suggestion(context, rule.contexts.iter().copied());
            let hint = if hint.is_empty() {
                format!("; there are: {here}")
            } else {
                hint
            };
            format!("there is no context `{context}`{hint}")
        });
    }
    match (*context, rest) {
        ("github", ["event", "inputs", name, ..]) => event_input(name, scope.file?),
        ("github", [rules::ACTION_PATH, ..]) if scope.action.is_some() => None,
        ("github", [name, ..]) => property("github", name, rules::GITHUB),
        ("job", [name, ..]) => property("job", name, rules::JOB_CONTEXT),
        ("runner", [name, ..]) => property("runner", name, rules::RUNNER),
        ("strategy", [name, ..]) => property("strategy", name, rules::STRATEGY_CONTEXT),
        ("inputs", [name, ..]) => input(name, scope),
        ("matrix", rest) => matrix_key(rest, scope),
        ("needs", [name, rest @ ..]) => need(name, rest, scope),
        ("steps", [name, rest @ ..]) => step(name, rest, scope),
        // What they have is known only when a job runs.
        _ => None,
    }
}

fn property(context: &str, name: &str, known: &[&str]) -> Option<String> {
    let is_known = known.contains(&name);
    (!is_known).then(|| {
        missing(
            &format!("`{context}` has no property `{name}`"),
            name,
            known.iter().copied(),
        )
    })
}

/// With the name that was meant, or all that there are.
fn missing<'k>(message: &str, name: &str, known: impl Iterator<Item = &'k str> + Clone) -> String {
    let hint = suggestion(name, known.clone());
    if !hint.is_empty() {
        return format!("{message}{hint}");
    }
    let all: Vec<_> = known.take(MAX_LISTED).collect();
    match all.is_empty() {
        true => message.to_owned(),
        false => format!("{message}; there are: {}", all.join(", ")),
    }
}

fn input(name: &str, scope: &NameScope<'_>) -> Option<String> {
    let Some(action) = scope.action else {
        return event_input(name, scope.file?);
    };
    let known = action.model.inputs.iter();
    let known = known.map(|input| input.name.text.as_str());
    let is_known = known.clone().any(|known| known.to_lowercase() == name);
    (!is_known).then(|| missing(&format!("the action has no input `{name}`"), name, known))
}

fn event_input(name: &str, file: &FileModel) -> Option<String> {
    let declared = file.inputs.iter().map(|input| input.name.text.as_str());
    let known = declared.chain(file.called_inputs.iter().map(String::as_str));
    let is_known = known.clone().any(|known| known.to_lowercase() == name);
    (!is_known).then(|| {
        missing(
            &format!("`workflow_dispatch` has no input `{name}`"),
            name,
            known,
        )
    })
}

fn need(name: &str, rest: &[&str], scope: &NameScope<'_>) -> Option<String> {
    let job = scope.job?;
    let needs = job.needs.iter().map(|need| need.text.as_str());
    if !needs.clone().any(|need| need.to_lowercase() == name) {
        let mut jobs = scope.file?.jobs.iter();
        let is_job = jobs.any(|job| job.id.text.to_lowercase() == name);
        return Some(if is_job {
            format!("this job does not need `{name}`; add it to `needs`")
        } else {
            missing(&format!("`needs` has no job `{name}`"), name, needs)
        });
    }
    let (result, rest) = rest.split_first()?;
    if !rules::NEED_RESULT.contains(result) {
        return property(&format!("needs.{name}"), result, rules::NEED_RESULT);
    }
    let output = rest.first().filter(|_| *result == "outputs")?;
    let mut jobs = scope.file?.jobs.iter();
    let needed = jobs.find(|job| job.id.text.to_lowercase() == name)?;
    let known = needed.outputs.iter().map(|(name, _)| name.text.as_str());
    let is_known = known.clone().any(|known| known.to_lowercase() == *output);
    (!is_known).then(|| {
        missing(
            &format!("the job `{name}` has no output `{output}`"),
            output,
            known,
        )
    })
}

fn step(name: &str, rest: &[&str], scope: &NameScope<'_>) -> Option<String> {
    let steps = scope.steps;
    let ids = |range: &[StepModel]| -> Vec<String> {
        let ids = range.iter().filter_map(|step| step.id.as_ref());
        ids.map(|id| id.text.clone()).collect()
    };
    let before = ids(&steps[..scope.steps_before.min(steps.len())]);
    if !before.iter().any(|id| id.to_lowercase() == name) {
        let is_later = ids(steps).iter().any(|id| id.to_lowercase() == name);
        return Some(if is_later {
            format!("the step `{name}` comes later; its results are not known yet")
        } else {
            missing(
                &format!("no earlier step has the id `{name}`"),
                name,
                before.iter().map(String::as_str),
            )
        });
    }
    let (result, rest) = rest.split_first()?;
    if *result == "outputs" {
        return step_output(name, rest.first()?, scope);
    }
    property(&format!("steps.{name}"), result, rules::STEP_RESULT)
}

/// What a command puts out is not known, and what an action of the commit does is.
fn step_output(step: &str, output: &str, scope: &NameScope<'_>) -> Option<String> {
    let has_id = |it: &&StepModel| {
        let id = it.id.as_ref();
        id.is_some_and(|id| id.text.to_lowercase() == step)
    };
    let StepBody::Local(directory) = &scope.steps.iter().find(has_id)?.body else {
        return None;
    };
    let action = scope.actions.get(directory)?;
    let known = action.model.outputs.iter();
    let known = known.map(|(name, _)| name.text.as_str());
    let is_known = known.clone().any(|known| known.to_lowercase() == output);
    (!is_known).then(|| {
        missing(
            &format!("{} has no output `{output}`", action.file),
            output,
            known,
        )
    })
}

fn matrix_key(rest: &[&str], scope: &NameScope<'_>) -> Option<String> {
    if scope.job?.strategy.matrix.is_none() {
        return Some("this job has no matrix; add one under `strategy`".to_owned());
    }
    let name = rest.first()?;
    let keys = scope.matrix_keys.as_ref()?;
    let is_known = keys.contains(*name);
    (!is_known).then(|| {
        missing(
            &format!("the matrix has no key `{name}`"),
            name,
            keys.iter().map(String::as_str),
        )
    })
}

/// The keys of all rows in lower case, or none if an expression makes some of them.
pub(super) fn matrix_keys(matrix: &MatrixModel) -> Option<BTreeSet<String>> {
    let MatrixModel::Axes { axes, include, .. } = matrix else {
        return None;
    };
    let mut keys: BTreeSet<String> = axes
        .iter()
        .map(|(name, _)| name.text.to_lowercase())
        .collect();
    match include {
        None => {}
        Some(AxisModel::Expression(_)) => return None,
        Some(AxisModel::Values(rows)) => {
            for row in rows {
                let YamlKind::Map(entries) = &row.kind else {
                    return None;
                };
                keys.extend(
                    entries
                        .iter()
                        .filter_map(|(key, _)| Some(key.scalar_text()?.to_lowercase())),
                );
            }
        }
    }
    Some(keys)
}
