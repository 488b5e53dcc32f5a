//! What all the texts of a job ask for: secrets, and the commit or ref.

use crate::expression::{Mention, Mentions, TemplatePart, condition_text, parse, parts};
use crate::local::LocalActions;
use crate::read::{AxisModel, FileModel, JobModel, MatrixModel, StepBody, StepModel, TextAt};
use crate::yaml::{YamlKind, YamlNode};

/// Properties of `github` that are not the same for two commits with the same files.
const COMMIT: [&str; 10] = [
    "sha",
    "ref",
    "ref_name",
    "ref_type",
    "head_ref",
    "base_ref",
    "event",
    "event_path",
    "workflow_ref",
    "run_id",
];
/// The same in the environment of a script.
const COMMIT_VARIABLES: [&str; 4] = [
    "GITHUB_SHA",
    "GITHUB_REF",
    "GITHUB_EVENT_PATH",
    "GITHUB_WORKFLOW_REF",
];

/// What a job asks for.
#[derive(Debug, Default, Clone)]
pub(super) struct JobAsks {
    pub secrets: Vec<String>,
    pub mentions_commit: bool,
}

/// What every job asks for by the `env` of the file.
pub(super) fn asked_by_file(file: &FileModel) -> JobAsks {
    let mut asked = JobAsks::default();
    file.env
        .iter()
        .for_each(|(_, value)| of_text(&value.text, &mut asked));
    asked
}

pub(super) fn asked(of_file: &JobAsks, job: &JobModel, actions: &LocalActions) -> JobAsks {
    let mut asked = of_file.clone();
    of_condition(job.condition.as_ref(), &mut asked);
    of_steps(&job.steps, actions, &mut asked);
    let mut of_text = |text: &str| of_text(text, &mut asked);
    for (_, value) in job.env.iter().chain(&job.outputs) {
        of_text(&value.text);
    }
    for text in [&job.name, &job.timeout, &job.continue_on_error]
        .into_iter()
        .flatten()
        .chain(&job.runs_on)
        .chain(&job.defaults.working_directory)
    {
        of_text(&text.text);
    }
    for node in job.strategy.matrix.iter().flat_map(matrix_texts) {
        of_text(&node);
    }
    asked.secrets.sort();
    asked.secrets.dedup();
    asked
}

/// What steps ask for, and the actions that they use.
fn of_steps(steps: &[StepModel], actions: &LocalActions, asked: &mut JobAsks) {
    for step in steps {
        of_condition(step.condition.as_ref(), asked);
        let of_step = [
            &step.name,
            &step.working_directory,
            &step.timeout,
            &step.continue_on_error,
        ];
        let script = match &step.body {
            StepBody::Run { script, .. } => Some(script),
            // The operator has it left out, and what it would be given.
            StepBody::Skipped => continue,
            _ => None,
        };
        let values = step.env.iter().chain(&step.with).map(|(_, value)| value);
        for text in of_step.into_iter().flatten().chain(script).chain(values) {
            of_text(&text.text, asked);
        }
        let StepBody::Local(directory) = &step.body else {
            continue;
        };
        if let Some(action) = actions.get(directory) {
            let left_out = |name: &TextAt| step.given(&name.text).is_none();
            let inputs = action.model.inputs.iter();
            let inputs = inputs.filter(|input| left_out(&input.name));
            let defaults = inputs.filter_map(|input| input.default.as_ref());
            let outputs = action.model.outputs.iter().map(|(_, value)| value);
            defaults
                .chain(outputs)
                .for_each(|text| of_text(&text.text, asked));
            of_steps(&action.model.steps, actions, asked);
        }
    }
}

fn of_condition(condition: Option<&TextAt>, asked: &mut JobAsks) {
    let text = condition.map(|condition| condition_text(&condition.text));
    if let Some(Ok(Some((text, _)))) = text {
        of_expression(text, asked);
    }
}

fn of_text(text: &str, asked: &mut JobAsks) {
    asked.mentions_commit |= COMMIT_VARIABLES.iter().any(|name| text.contains(name));
    for part in parts(text).unwrap_or_default() {
        if let TemplatePart::Expression { text, .. } = part {
            of_expression(text, asked);
        }
    }
}

fn of_expression(text: &str, asked: &mut JobAsks) {
    let Ok(tree) = parse(text) else { return };
    for mention in Mentions::of(&tree).contexts {
        asked.secrets.extend(secret(&mention));
        asked.mentions_commit |= mention.path[0] == "github"
            && mention
                .path
                .get(1)
                .is_none_or(|name| COMMIT.contains(&name.as_str()));
    }
}

fn secret(mention: &Mention) -> Option<String> {
    let path: Vec<&str> = mention.path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["secrets"] => Some("*".to_owned()),
        // Names of secrets have no case on GitHub.
        ["secrets", name, ..] => Some(name.to_uppercase()),
        ["github", "token", ..] => Some("GITHUB_TOKEN".to_owned()),
        _ => None,
    }
}

fn matrix_texts(matrix: &MatrixModel) -> Vec<String> {
    let mut texts = Vec::new();
    let mut of_axis = |axis: &AxisModel| match axis {
        AxisModel::Expression(TextAt { text, .. }) => texts.push(text.clone()),
        AxisModel::Values(nodes) => nodes.iter().for_each(|node| node_texts(node, &mut texts)),
    };
    match matrix {
        MatrixModel::Expression(TextAt { text, .. }) => texts.push(text.clone()),
        MatrixModel::Axes {
            axes,
            include,
            exclude,
        } => {
            axes.iter()
                .map(|(_, axis)| axis)
                .chain(include)
                .chain(exclude)
                .for_each(&mut of_axis);
        }
    }
    texts
}

fn node_texts(node: &YamlNode, texts: &mut Vec<String>) {
    match &node.kind {
        YamlKind::Text(text) => texts.push(text.clone()),
        YamlKind::List(items) => items.iter().for_each(|item| node_texts(item, texts)),
        YamlKind::Map(entries) => entries
            .iter()
            .for_each(|(_, value)| node_texts(value, texts)),
        YamlKind::Null | YamlKind::Bool(_) | YamlKind::Number(_) => {}
    }
}
