//! Whether steps use actions as those want it, and whether the actions in each other come to an end.

use std::collections::{BTreeMap, BTreeSet};

use super::{LocalActions, used};
use crate::fault::FaultList;
use crate::read::{FileModel, StepModel, suggestion};

/// So many actions may be in each other.
const MAX_DEPTH: usize = 9;
/// With the steps of the actions that its steps use.
const MAX_STEPS: usize = 128;

/// How large an action is, with those in it.
#[derive(Debug, Clone, Copy)]
struct ActionSize {
    depth: usize,
    steps: usize,
}

/// Checks every step that uses an action: `missing` says which cannot be read, and why not.
pub(crate) fn check_uses(
    faults: &mut FaultList<'_>,
    workflow: &FileModel,
    actions: &LocalActions,
    missing: &BTreeMap<String, String>,
) {
    for (directory, action) in actions {
        let mut own = action.faults();
        check_steps(&mut own, &action.model.steps, actions, missing);
        check_circle(&mut own, directory, actions);
        faults.absorb(own);
    }
    let sizes = sizes(actions);
    for job in &workflow.jobs {
        check_steps(faults, &job.steps, actions, missing);
        for (step, directory) in used(&job.steps) {
            let depth = sizes.get(directory).map_or(0, |size| size.depth);
            if depth > MAX_DEPTH {
                let message = format!(
                    "the actions in this one are {depth} deep; they are at most {MAX_DEPTH}"
                );
                faults.invalid(place(step), message);
            }
        }
        let given = count(&job.steps, &sizes);
        if given > MAX_STEPS {
            let message = format!(
                "with those of its actions the job `{}` has {given} steps; it has at most {MAX_STEPS}",
                job.id.text
            );
            faults.invalid(job.id.at, message);
        }
    }
}

fn check_steps(
    faults: &mut FaultList<'_>,
    steps: &[StepModel],
    actions: &LocalActions,
    missing: &BTreeMap<String, String>,
) {
    for (step, directory) in used(steps) {
        if let Some(why) = missing.get(directory) {
            faults.invalid(place(step), why.clone());
        }
        let Some(action) = actions.get(directory) else {
            continue;
        };
        let names = || {
            let inputs = action.model.inputs.iter();
            inputs.map(|input| input.name.text.as_str())
        };
        for (name, _) in &step.with {
            if !names().any(|input| input.eq_ignore_ascii_case(&name.text)) {
                let hint = suggestion(&name.text, names());
                let message = format!("{} has no input `{}`{hint}", action.file, name.text);
                faults.invalid(name.at, message);
            }
        }
        for input in &action.model.inputs {
            let name = &input.name.text;
            if input.is_required && input.default.is_none() && step.given(name).is_none() {
                let message = format!("{} needs `{name}` in the `with` of this step", action.file);
                faults.invalid(place(step), message);
            }
        }
    }
}

fn place(step: &StepModel) -> usize {
    step.uses.as_ref().map_or(step.at, |uses| uses.at)
}

/// Refuses the steps of an action by which it uses itself.
fn check_circle(faults: &mut FaultList<'_>, directory: &str, actions: &LocalActions) {
    let steps = actions.get(directory).map(|action| &action.model.steps);
    for (step, inner) in used(steps.map_or(&[], Vec::as_slice)) {
        if reached(inner, actions).contains(directory) {
            let message = "by this step the action uses itself; break the circle";
            faults.invalid(place(step), message);
        }
    }
}

/// An action, and all that it uses by any way.
fn reached<'a>(from: &'a str, actions: &'a LocalActions) -> BTreeSet<&'a str> {
    let (mut found, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(directory) = left.pop() {
        if found.insert(directory)
            && let Some(action) = actions.get(directory)
        {
            left.extend(used(&action.model.steps).map(|(_, inner)| inner));
        }
    }
    found
}

/// The sizes of all from which no circle is reached: each after those in it.
fn sizes(actions: &LocalActions) -> BTreeMap<&str, ActionSize> {
    let mut sizes: BTreeMap<&str, ActionSize> = BTreeMap::new();
    loop {
        let before = sizes.len();
        for (directory, action) in actions {
            let steps = &action.model.steps;
            let mut inner = used(steps).map(|(_, inner)| inner);
            let is_ready = inner.all(|it| sizes.contains_key(it) || !actions.contains_key(it));
            if sizes.contains_key(directory.as_str()) || !is_ready {
                continue;
            }
            let depths = used(steps).filter_map(|(_, inner)| Some(sizes.get(inner)?.depth));
            let size = ActionSize {
                depth: depths.max().unwrap_or(0) + 1,
                steps: count(steps, &sizes),
            };
            sizes.insert(directory, size);
        }
        if sizes.len() == before {
            return sizes;
        }
    }
}

/// Steps with those of the actions that they use.
fn count(steps: &[StepModel], sizes: &BTreeMap<&str, ActionSize>) -> usize {
    let inner = used(steps).filter_map(|(_, directory)| Some(sizes.get(directory)?.steps));
    inner.fold(steps.len(), usize::saturating_add)
}
