//! The file of a composite action.

use super::job::{MAX_OUTPUTS, MAX_STEPS, check_ids};
use super::keys::{ACTION, ACTION_INPUT, ACTION_OUTPUT, ACTION_STEP, RUNS};
use super::model::{ActionInput, ActionModel, StepBody, TextAt};
use super::reader::Reader;
use super::step::{check_shell, is_name, read_step};
use crate::fault::FaultCode;
use crate::yaml::{YamlKind, YamlNode};

const MAX_INPUTS: usize = 100;

pub(crate) fn read_action(reader: &mut Reader<'_>, node: &YamlNode) -> ActionModel {
    let mut action = ActionModel::default();
    if !matches!(node.kind, YamlKind::Map(_)) {
        reader.expected(node, "the action", "a mapping with `runs`");
        return action;
    }
    let mut runs = None;
    for (key, _, value) in reader.keys(node, ACTION) {
        match key {
            "inputs" => read_inputs(reader, value, &mut action),
            "outputs" => read_outputs(reader, value, &mut action),
            "runs" => runs = Some(value),
            _ => {}
        }
    }
    match runs {
        Some(runs) => read_runs(reader, runs, &mut action),
        None => reader.invalid(
            node.at,
            "an action needs `runs`, with `using: composite` and `steps`",
        ),
    }
    action
}

fn read_inputs(reader: &mut Reader<'_>, node: &YamlNode, action: &mut ActionModel) {
    for (name, key, value) in named(reader, node, "inputs", MAX_INPUTS) {
        let is_known = |input: &ActionInput| input.name.text.eq_ignore_ascii_case(&name);
        if action.inputs.iter().any(is_known) {
            let message =
                format!("two inputs are called `{name}`; their names differ in case alone");
            reader.invalid(key.at, message);
        }
        let mut input = ActionInput {
            name: TextAt {
                text: name,
                at: key.at,
            },
            is_required: false,
            default: None,
        };
        for (key, _, value) in entry(reader, value, ACTION_INPUT) {
            match key {
                "required" => input.is_required = read_required(reader, value),
                "default" => input.default = reader.text(value, key),
                _ => {}
            }
        }
        action.inputs.push(input);
    }
}

/// Actions write it as a text, too.
fn read_required(reader: &mut Reader<'_>, node: &YamlNode) -> bool {
    match node.scalar_text().as_deref() {
        Some("true") => true,
        Some("false") => false,
        _ => {
            reader.expected(node, "required", "true or false");
            false
        }
    }
}

fn read_outputs(reader: &mut Reader<'_>, node: &YamlNode, action: &mut ActionModel) {
    for (name, key, value) in named(reader, node, "outputs", MAX_OUTPUTS) {
        let keys = entry(reader, value, ACTION_OUTPUT);
        let Some((what, _, value)) = keys.into_iter().find(|(key, ..)| *key == "value") else {
            let message = format!("the output `{name}` needs `value`");
            reader.invalid(key.at, message);
            continue;
        };
        let value = reader.text(value, what);
        let name = TextAt {
            text: name,
            at: key.at,
        };
        action.outputs.extend(value.map(|value| (name, value)));
    }
}

fn read_runs(reader: &mut Reader<'_>, node: &YamlNode, action: &mut ActionModel) {
    match using(node) {
        Some((using, _)) if using.eq_ignore_ascii_case("composite") => {}
        Some((using, at)) => {
            let message = format!(
                "an action with `using: {using}` is not run here; only `using: composite` is"
            );
            reader
                .faults()
                .refuse(FaultCode::ActionNotSupported, at, message);
            return;
        }
        None => {
            reader.invalid(node.at, "`runs` of an action needs `using: composite`");
            return;
        }
    }
    let keys = reader.keys(node, RUNS);
    let Some((_, _, steps)) = keys.into_iter().find(|(key, ..)| *key == "steps") else {
        reader.invalid(node.at, "`runs` of an action needs `steps`");
        return;
    };
    let YamlKind::List(items) = &steps.kind else {
        reader.expected(steps, "steps", "a list");
        return;
    };
    if items.is_empty() || items.len() > MAX_STEPS {
        let given = items.len();
        let message = format!("the action has {given} steps; an action has 1 to {MAX_STEPS}");
        reader.invalid(steps.at, message);
    }
    for item in items.iter().take(MAX_STEPS) {
        action.steps.extend(read_step(reader, item, ACTION_STEP));
    }
    for step in &action.steps {
        match &step.body {
            StepBody::Run { shell: None, .. } => {
                let message = "a `run` step of an action needs `shell`, such as bash";
                reader.invalid(step.at, message);
            }
            StepBody::Run {
                shell: Some(shell), ..
            } => check_shell(reader, shell),
            _ => {}
        }
    }
    check_ids(reader, &action.steps);
}

/// What runs the action. What else `runs` has depends on it.
fn using(node: &YamlNode) -> Option<(String, usize)> {
    let YamlKind::Map(entries) = &node.kind else {
        return None;
    };
    let mut entries = entries.iter();
    let (_, value) = entries.find(|(key, _)| key.scalar_text().as_deref() == Some("using"))?;
    Some((value.scalar_text()?, value.at))
}

/// The entries of `inputs` or `outputs`, which have names that expressions can say.
fn named<'n>(
    reader: &mut Reader<'_>,
    node: &'n YamlNode,
    what: &str,
    most: usize,
) -> Vec<(String, &'n YamlNode, &'n YamlNode)> {
    if node.is_null() {
        return Vec::new();
    }
    let mut entries = reader.entries(node, what);
    reader.bound(node.at, what, entries.len(), most);
    entries.truncate(most);
    for (name, key, _) in &entries {
        if !is_name(name) {
            let message = format!(
                "`{name}` is no name; use less than 100 letters, digits, - and _, and begin with a letter or a single _"
            );
            reader.invalid(key.at, message);
        }
    }
    entries
}

/// The keys of an input or output, which may have none.
fn entry<'n>(
    reader: &mut Reader<'_>,
    node: &'n YamlNode,
    level: &'static str,
) -> Vec<(&'static str, &'n YamlNode, &'n YamlNode)> {
    match node.is_null() {
        true => Vec::new(),
        false => reader.keys(node, level),
    }
}
