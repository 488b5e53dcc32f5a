//! Which names of a job have text from outside behind them: variables, outputs and matrices that are made of it.

use std::collections::HashMap;

use super::script::{Outside, takes_outside};
use crate::local::{LocalAction, LocalActions};
use crate::read::{FileModel, JobModel, StepBody, StepModel, TextAt};

/// A longer list becomes a coarser one.
const MAX_NAMES: usize = 64;

/// For each job, and each of its steps with those of actions after the step that uses them, the names as `env.TITLE` or `needs.a.outputs.b`.
pub(super) type OutsideNames = HashMap<String, Vec<Vec<String>>>;

pub(super) fn outside_names(file: &FileModel, actions: &LocalActions) -> OutsideNames {
    let mut names = OutsideNames::new();
    let mut outputs: HashMap<&str, Vec<String>> = HashMap::new();
    let of_file = variables(&file.env, Outside::of_file(&[]));
    // Each job after those that it needs; circles were refused.
    while let Some(job) = file
        .jobs
        .iter()
        .find(|job| !names.contains_key(&job.id.text) && is_ready(job, &names))
    {
        let (of_steps, of_outputs) = of_job(&of_file, job, &outputs, actions);
        names.insert(job.id.text.clone(), of_steps);
        outputs.insert(&job.id.text, of_outputs);
    }
    names
}

fn is_ready(job: &JobModel, done: &OutsideNames) -> bool {
    job.needs.iter().all(|need| done.contains_key(&need.text))
}

fn of_job(
    of_file: &[String],
    job: &JobModel,
    outputs: &HashMap<&str, Vec<String>>,
    actions: &LocalActions,
) -> (Vec<Vec<String>>, Vec<String>) {
    let mut names = Vec::new();
    for need in &job.needs {
        let of_need = outputs.get(need.text.as_str()).into_iter().flatten();
        names.extend(of_need.map(|output| format!("needs.{}.outputs.{output}", need.text)));
    }
    if job.strategy.matrix.as_ref().is_some_and(|matrix| {
        matrix
            .texts()
            .iter()
            .any(|text| takes_outside(text, Outside::of_file(&names)))
    }) {
        names.push("matrix".to_owned());
    }
    names.extend(variables(&job.env, Outside::of_file(&names)));
    names.extend_from_slice(of_file);
    if names.len() > MAX_NAMES {
        // Each step has the list, so all of a context stands for many of its names.
        names = ["env", "matrix", "needs", "steps"]
            .map(str::to_owned)
            .to_vec();
    }
    let mut flow = Flow {
        actions,
        of_steps: Vec::new(),
    };
    flow.through_steps(&job.steps, &mut names, false);
    let of_outputs = job
        .outputs
        .iter()
        .filter(|(_, value)| takes_outside(&value.text, Outside::of_file(&names)));
    (
        flow.of_steps,
        of_outputs.map(|(name, _)| name.text.clone()).collect(),
    )
}

/// How text from outside goes from step to step.
struct Flow<'a> {
    actions: &'a LocalActions,
    /// What each step sees.
    of_steps: Vec<Vec<String>>,
}

impl Flow<'_> {
    /// Adds to `names` those that the steps make for the ones after them.
    fn through_steps(&mut self, steps: &[StepModel], names: &mut Vec<String>, is_action: bool) {
        for step in steps {
            let mut of_step = names.clone();
            of_step.extend(variables(&step.env, Outside { names, is_action }));
            self.of_steps.push(of_step.clone());
            let seen = Outside {
                names: &of_step,
                is_action,
            };
            let (is_made, is_env) = match &step.body {
                StepBody::Local(directory) => match self.actions.get(directory) {
                    Some(action) => self.through_action(action, step, seen),
                    None => continue,
                },
                body => {
                    let is_made = makes_outside(step, seen);
                    let writes = matches!(body, StepBody::Run { script, .. } if script.text.contains("GITHUB_ENV"));
                    (is_made, is_made && writes)
                }
            };
            if is_made && let Some(id) = &step.id {
                names.push(format!("steps.{}.outputs", id.text));
            }
            if is_env {
                names.push("env".to_owned());
            }
        }
    }

    /// Whether text from outside can be in the outputs of the action, and in variables that its steps set.
    fn through_action(
        &mut self,
        action: &LocalAction,
        step: &StepModel,
        seen: Outside<'_>,
    ) -> (bool, bool) {
        // Its steps have ids of their own, and its inputs names of their own.
        let is_shared = |name: &&String| !name.starts_with("steps") && !name.starts_with("inputs");
        let mut names: Vec<String> = seen.names.iter().filter(is_shared).cloned().collect();
        for input in &action.model.inputs {
            let name = &input.name.text;
            let given = step.given(name).or(input.default.as_ref());
            if given.is_some_and(|text| takes_outside(&text.text, seen)) {
                names.push(format!("inputs.{name}"));
            }
        }
        if names.len() > MAX_NAMES {
            names = ["env", "inputs", "matrix", "steps"]
                .map(str::to_owned)
                .to_vec();
        }
        self.through_steps(&action.model.steps, &mut names, true);
        let own = Outside {
            names: &names,
            is_action: true,
        };
        let mut outputs = action.model.outputs.iter();
        let is_made = outputs.any(|(_, value)| takes_outside(&value.text, own));
        (is_made, names.iter().any(|name| name == "env"))
    }
}

fn variables(env: &[(TextAt, TextAt)], outside: Outside<'_>) -> Vec<String> {
    let env = env
        .iter()
        .filter(|(_, value)| takes_outside(&value.text, outside));
    env.map(|(name, _)| format!("env.{}", name.text)).collect()
}

/// Whether a step has text from outside in what it is given, so that it can be in what it puts out.
fn makes_outside(step: &StepModel, outside: Outside<'_>) -> bool {
    let given = step.env.iter().chain(&step.with).map(|(_, value)| value);
    let takes = |text: &TextAt| takes_outside(&text.text, outside);
    if given.into_iter().any(takes) {
        return true;
    }
    let StepBody::Run { script, .. } = &step.body else {
        return false;
    };
    let uses_variable = |name: &String| {
        // An earlier step may have set any variable from it, so a script that reads one may have it.
        let is_any = name == "env" && script.text.contains('$');
        is_any
            || name
                .strip_prefix("env.")
                .is_some_and(|name| script.text.contains(name))
    };
    takes(script) || outside.names.iter().any(uses_variable)
}
