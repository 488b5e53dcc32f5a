//! Which names of a job have text from outside behind them: variables, outputs and matrices that are made of it.

use std::collections::HashMap;

use super::script::takes_outside;
use crate::read::{FileModel, JobModel, StepBody, StepModel, TextAt};

/// A longer list becomes a coarser one.
const MAX_NAMES: usize = 64;

/// For each job, and each of its steps, the names as `env.TITLE` or `needs.a.outputs.b`.
pub(super) type OutsideNames = HashMap<String, Vec<Vec<String>>>;

pub(super) fn outside_names(file: &FileModel) -> OutsideNames {
    let mut names = OutsideNames::new();
    let mut outputs: HashMap<&str, Vec<String>> = HashMap::new();
    let of_file = variables(&file.env, &[]);
    // Each job after those that it needs; circles were refused.
    while let Some(job) = file
        .jobs
        .iter()
        .find(|job| !names.contains_key(&job.id.text) && is_ready(job, &names))
    {
        let (of_steps, of_outputs) = of_job(&of_file, job, &outputs);
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
            .any(|text| takes_outside(text, &names))
    }) {
        names.push("matrix".to_owned());
    }
    names.extend(variables(&job.env, &names));
    names.extend_from_slice(of_file);
    if names.len() > MAX_NAMES {
        // Each step has the list, so all of a context stands for many of its names.
        names = ["env", "matrix", "needs", "steps"]
            .map(str::to_owned)
            .to_vec();
    }
    let mut of_steps = Vec::new();
    for step in &job.steps {
        let mut of_step = names.clone();
        of_step.extend(variables(&step.env, &names));
        if makes_outside(step, &of_step) {
            names.extend(
                step.id
                    .as_ref()
                    .map(|id| format!("steps.{}.outputs", id.text)),
            );
            if matches!(&step.body, StepBody::Run { script, .. } if script.text.contains("GITHUB_ENV"))
            {
                names.push("env".to_owned());
            }
        }
        of_steps.push(of_step);
    }
    let of_outputs = job
        .outputs
        .iter()
        .filter(|(_, value)| takes_outside(&value.text, &names));
    (
        of_steps,
        of_outputs.map(|(name, _)| name.text.clone()).collect(),
    )
}

fn variables(env: &[(TextAt, TextAt)], names: &[String]) -> Vec<String> {
    let env = env
        .iter()
        .filter(|(_, value)| takes_outside(&value.text, names));
    env.map(|(name, _)| format!("env.{}", name.text)).collect()
}

/// Whether a step has text from outside in what it is given, so that it can be in what it puts out.
fn makes_outside(step: &StepModel, names: &[String]) -> bool {
    let given = step.env.iter().chain(&step.with).map(|(_, value)| value);
    let takes = |text: &TextAt| takes_outside(&text.text, names);
    if given.into_iter().any(takes) {
        return true;
    }
    let StepBody::Run { script, .. } = &step.body else {
        return false;
    };
    let uses_variable = |name: &String| {
        name.strip_prefix("env.")
            .is_some_and(|name| script.text.contains(name))
    };
    takes(script) || names.iter().any(uses_variable)
}
