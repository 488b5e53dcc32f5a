//! A job.

use super::concurrency::{read_concurrency, read_defaults};
use super::extras::JobExtras;
use super::keys::{JOB, RUNS_ON, STEP};
use super::labels::is_linux;
use super::model::{DefaultsModel, JobModel, StepBody, StepModel, StrategyModel, TextAt};
use super::own_keys::read_extra;
use super::reader::Reader;
use super::step::{check_shell, read_step};
use super::strategy::read_strategy;
use crate::fault::FaultCode;
use crate::yaml::{YamlKind, YamlNode};

/// After matrices were expanded.
pub(crate) const MAX_JOBS: usize = 256;
pub(super) const MAX_STEPS: usize = 64;
pub(super) const MAX_OUTPUTS: usize = 100;

pub(super) fn read_job(
    reader: &mut Reader<'_>,
    id: TextAt,
    node: &YamlNode,
    file: &DefaultsModel,
) -> Option<JobModel> {
    if !matches!(node.kind, YamlKind::Map(_)) {
        reader.expected(node, &id.text, "a mapping with `runs-on` and `steps`");
        return None;
    }
    if let Some(uses) = called_workflow(node) {
        refuse_call(reader, &uses);
        return None;
    }
    let mut job = JobModel {
        id,
        name: None,
        needs: Vec::new(),
        condition: None,
        runs_on: Vec::new(),
        env: Vec::new(),
        defaults: DefaultsModel::default(),
        strategy: StrategyModel::default(),
        timeout: None,
        continue_on_error: None,
        outputs: Vec::new(),
        concurrency: None,
        steps: Vec::new(),
        extras: JobExtras::default(),
    };
    let mut steps = None;
    let mut has_runner = false;
    for (key, _, value) in reader.keys(node, JOB) {
        match key {
            "name" => job.name = reader.text(value, key),
            "permissions" => {}
            "needs" => {
                job.needs = reader.texts(value, key);
                reader.bound(value.at, "names in `needs`", job.needs.len(), MAX_JOBS);
                job.needs.truncate(MAX_JOBS);
            }
            "if" => job.condition = reader.text(value, key),
            "runs-on" => {
                has_runner = true;
                job.runs_on = read_labels(reader, value);
            }
            "env" => job.env = reader.env(value),
            "defaults" => job.defaults = read_defaults(reader, value),
            "strategy" => job.strategy = read_strategy(reader, value),
            "timeout-minutes" => job.timeout = reader.number(value, key),
            "continue-on-error" => job.continue_on_error = reader.flag(value, key),
            "outputs" => {
                job.outputs = reader.text_map(value, key);
                reader.bound(value.at, "outputs", job.outputs.len(), MAX_OUTPUTS);
                job.outputs.truncate(MAX_OUTPUTS);
            }
            "concurrency" => job.concurrency = read_concurrency(reader, value),
            "steps" => steps = Some(value),
            _ => read_extra(reader, key, value, &mut job.extras),
        }
    }
    if !has_runner {
        reader.invalid(
            node.at,
            format!(
                "the job `{}` needs `runs-on`, such as ubuntu-latest",
                job.id.text
            ),
        );
    }
    match steps {
        Some(steps) => read_steps(reader, steps, &mut job, file),
        None => reader.invalid(
            job.id.at,
            format!("the job `{}` needs `steps`", job.id.text),
        ),
    }
    Some(job)
}

fn called_workflow(node: &YamlNode) -> Option<TextAt> {
    let YamlKind::Map(entries) = &node.kind else {
        return None;
    };
    let (key, value) = entries
        .iter()
        .find(|(key, _)| key.scalar_text().as_deref() == Some("uses"))?;
    Some(TextAt {
        text: value.scalar_text()?,
        at: key.at,
    })
}

fn refuse_call(reader: &mut Reader<'_>, uses: &TextAt) {
    if uses.text.starts_with("./") {
        let message = "a job that calls a workflow is not supported yet; write its jobs here";
        reader
            .faults()
            .refuse(FaultCode::NotSupportedYet, uses.at, message);
    } else {
        let message = format!(
            "`{}` is a workflow of another repository; write its jobs here",
            uses.text
        );
        reader
            .faults()
            .refuse(FaultCode::ActionNotSupported, uses.at, message);
    }
}

fn read_labels(reader: &mut Reader<'_>, node: &YamlNode) -> Vec<TextAt> {
    if !matches!(node.kind, YamlKind::Map(_)) {
        return reader.texts(node, "runs-on");
    }
    let mut labels = Vec::new();
    for (key, _, value) in reader.keys(node, RUNS_ON) {
        if key == "labels" {
            labels = reader.texts(value, key);
        }
    }
    labels
}

fn read_steps(reader: &mut Reader<'_>, node: &YamlNode, job: &mut JobModel, file: &DefaultsModel) {
    let YamlKind::List(items) = &node.kind else {
        reader.expected(node, "steps", "a list");
        return;
    };
    if items.is_empty() || items.len() > MAX_STEPS {
        let given = items.len();
        reader.invalid(
            node.at,
            format!(
                "the job `{}` has {given} steps; a job has 1 to {MAX_STEPS}",
                job.id.text
            ),
        );
    }
    let is_elsewhere = is_elsewhere(reader, job);
    reader.set_lenient(is_elsewhere);
    for item in items.iter().take(MAX_STEPS) {
        job.steps.extend(read_step(reader, item, STEP));
    }
    for step in &job.steps {
        if let StepBody::Run { shell, .. } = &step.body {
            let of_job = job.defaults.shell.as_ref().or(file.shell.as_ref());
            if let Some(shell) = shell.as_ref().or(of_job) {
                // Whether it is needed here may be known only with a row of the matrix.
                let is_open = step.condition.is_some() || has_expression(&job.runs_on);
                reader.set_lenient(is_elsewhere || is_open);
                check_shell(reader, shell);
            }
        }
    }
    reader.set_lenient(false);
    check_ids(reader, &job.steps);
}

/// Whether the job is for another system whatever its matrix says.
fn is_elsewhere(reader: &Reader<'_>, job: &JobModel) -> bool {
    let labels: Vec<String> = job.runs_on.iter().map(|label| label.text.clone()).collect();
    !has_expression(&job.runs_on) && !is_linux(&labels, reader.linux_labels())
}

fn has_expression(labels: &[TextAt]) -> bool {
    labels.iter().any(|label| label.text.contains("${{"))
}

/// Ids are there once, and what is waited for or cancelled runs in the background before that.
pub(super) fn check_ids(reader: &mut Reader<'_>, steps: &[StepModel]) {
    for (at, step) in steps.iter().enumerate() {
        let earlier = || {
            steps[..at]
                .iter()
                .filter_map(|other| Some((other, other.id.as_ref()?)))
        };
        if let Some(id) = &step.id
            && earlier().any(|(_, other)| other.text.eq_ignore_ascii_case(&id.text))
        {
            reader.invalid(
                id.at,
                format!("two steps have the id `{}`; give each its own", id.text),
            );
        }
        let targets = match &step.body {
            StepBody::Wait(targets) => targets.as_slice(),
            StepBody::Cancel(target) => std::slice::from_ref(target),
            _ => &[],
        };
        for target in targets {
            let found = earlier().find(|(_, id)| id.text.eq_ignore_ascii_case(&target.text));
            if !found.is_some_and(|(other, _)| other.is_background) {
                let message = format!("no earlier step `{}` runs in the background", target.text);
                reader.invalid(target.at, message);
            }
        }
    }
}
