//! `on`.

use super::cron::is_cron;
use super::keys::{self, CRON, DISPATCH, FOREIGN_EVENTS, INPUT, ON, TRIGGER};
use super::model::{FileModel, InputKind, InputModel, TextAt, TriggerModel};
use super::reader::Reader;
use super::suggest::suggestion;
use crate::event::EventKind;
use crate::fault::FaultCode;
use crate::glob::PathPattern;
use crate::yaml::{YamlKind, YamlNode};

const MAX_PATTERNS: usize = 100;
const MAX_INPUTS: usize = 100;

pub(super) fn read_triggers(reader: &mut Reader<'_>, node: &YamlNode, file: &mut FileModel) {
    match &node.kind {
        YamlKind::Map(_) => {
            for (name, key, value) in reader.entries(node, ON) {
                read_trigger(reader, (&name, key.at), Some(value), file);
            }
        }
        _ => {
            for event in reader.texts(node, ON) {
                read_trigger(reader, (&event.text, event.at), None, file);
            }
        }
    }
}

fn read_trigger(
    reader: &mut Reader<'_>,
    (name, at): (&str, usize),
    value: Option<&YamlNode>,
    file: &mut FileModel,
) {
    let Some(kind) = EventKind::ALL.into_iter().find(|kind| kind.name() == name) else {
        if FOREIGN_EVENTS.contains(&name) {
            if name == "workflow_call" {
                file.called_inputs = called_inputs(value);
            }
            let message =
                format!("the event `{name}` never comes here; this trigger starts nothing");
            reader
                .faults()
                .warn(FaultCode::NotSupportedYet, at, message);
        } else {
            let known = keys::keys_of(ON).chain(FOREIGN_EVENTS.iter().copied());
            let hint = suggestion(name, known);
            reader.invalid(at, format!("there is no event `{name}`{hint}"));
        }
        return;
    };
    let mut trigger = TriggerModel {
        kind,
        branches: None,
        branches_ignore: None,
        tags: None,
        tags_ignore: None,
        paths: None,
        paths_ignore: None,
        types: None,
        crons: Vec::new(),
    };
    match (kind, value.filter(|value| !value.is_null())) {
        (EventKind::Schedule, Some(value)) => trigger.crons = read_crons(reader, value),
        (EventKind::Schedule, None) => reader.invalid(at, "`schedule` needs a list of `cron: …`"),
        (EventKind::WorkflowDispatch, Some(value)) => {
            for (_, _, inputs) in reader.keys(value, DISPATCH) {
                file.inputs = read_inputs(reader, inputs);
            }
        }
        (_, Some(value)) => read_filters(reader, value, &mut trigger),
        (_, None) => {}
    }
    file.triggers.push(trigger);
}

fn read_filters(reader: &mut Reader<'_>, node: &YamlNode, trigger: &mut TriggerModel) {
    let name = trigger.kind.name();
    let mut keys_at = Vec::new();
    for (key, at, value) in reader.keys(node, TRIGGER) {
        let is_allowed = match trigger.kind {
            EventKind::Push => key != "types",
            EventKind::PullRequest => !key.starts_with("tags"),
            _ => matches!(key, "branches" | "branches-ignore" | "types"),
        };
        if !is_allowed {
            reader.invalid(at.at, format!("`{name}` has no key `{key}`; remove it"));
            continue;
        }
        let patterns = reader.texts(value, key);
        if patterns.len() > MAX_PATTERNS {
            reader.invalid(
                at.at,
                format!("`{key}` has more than {MAX_PATTERNS} patterns"),
            );
        }
        if key != "types" {
            check_patterns(reader, key, &patterns);
        }
        keys_at.push((key, at.at));
        let field = match key {
            "branches" => &mut trigger.branches,
            "branches-ignore" => &mut trigger.branches_ignore,
            "tags" => &mut trigger.tags,
            "tags-ignore" => &mut trigger.tags_ignore,
            "paths" => &mut trigger.paths,
            "paths-ignore" => &mut trigger.paths_ignore,
            _ => &mut trigger.types,
        };
        *field = Some(patterns);
    }
    for (key, at) in &keys_at {
        let other = format!("{key}-ignore");
        if keys_at.iter().any(|(name, _)| *name == other) {
            let message = format!(
                "`{name}` has both `{key}` and `{other}`; use one, with `!` for what to leave out"
            );
            reader.invalid(*at, message);
        }
    }
}

fn check_patterns(reader: &mut Reader<'_>, key: &str, patterns: &[TextAt]) {
    for pattern in patterns {
        if let Err(message) = PathPattern::parse(&pattern.text) {
            reader.invalid(
                pattern.at,
                format!("`{}` is no pattern: {message}", pattern.text),
            );
        }
    }
    let is_negative = |pattern: &TextAt| pattern.text.starts_with('!');
    if let Some(first) = patterns.first()
        && patterns.iter().all(is_negative)
        && !key.ends_with("-ignore")
    {
        let message = format!(
            "all patterns of `{key}` begin with `!`, so nothing matches; use `{key}-ignore`"
        );
        reader.invalid(first.at, message);
    }
}

fn read_crons(reader: &mut Reader<'_>, node: &YamlNode) -> Vec<(String, Option<String>)> {
    let YamlKind::List(items) = &node.kind else {
        reader.expected(node, "schedule", "a list of `cron: …`");
        return Vec::new();
    };
    let mut crons = Vec::new();
    for item in items {
        let mut cron = None;
        let mut zone = None;
        for (key, _, value) in reader.keys(item, CRON) {
            let text = reader.full_text(value, key);
            *(if key == "cron" { &mut cron } else { &mut zone }) = text;
        }
        match cron {
            Some(cron) => {
                if !is_cron(&cron.text) {
                    let message = format!(
                        "`{}` is no schedule; write minute, hour, day, month and weekday, such as \"0 3 * * 1-5\"",
                        cron.text
                    );
                    reader.invalid(cron.at, message);
                }
                crons.push((cron.text, zone.map(|zone| zone.text)));
            }
            None => reader.invalid(item.at, "an item of `schedule` has no `cron`"),
        }
    }
    crons
}

fn read_inputs(reader: &mut Reader<'_>, node: &YamlNode) -> Vec<InputModel> {
    if node.is_null() {
        return Vec::new();
    }
    let entries = reader.entries(node, "inputs");
    reader.bound(node.at, "inputs", entries.len(), MAX_INPUTS);
    entries
        .into_iter()
        .take(MAX_INPUTS)
        .map(|(name, key, value)| {
            read_input(
                reader,
                TextAt {
                    text: name,
                    at: key.at,
                },
                value,
            )
        })
        .collect()
}

fn read_input(reader: &mut Reader<'_>, name: TextAt, node: &YamlNode) -> InputModel {
    let mut input = InputModel {
        name,
        kind: InputKind::Text,
        is_required: false,
        default: None,
        options: Vec::new(),
    };
    if node.is_null() {
        return input;
    }
    for (key, _, value) in reader.keys(node, INPUT) {
        match key {
            "type" => input.kind = read_kind(reader, value),
            "required" => input.is_required = reader.plain_flag(value, key),
            "default" => input.default = reader.text(value, key).map(|text| text.text),
            "options" => {
                input.options = reader
                    .list(value, key)
                    .into_iter()
                    .map(|text| text.text)
                    .collect();
            }
            _ => drop(reader.text(value, key)),
        }
    }
    let InputModel {
        kind,
        options,
        default,
        ..
    } = &input;
    if *kind == InputKind::Choice && options.is_empty() {
        reader.invalid(
            node.at,
            format!(
                "the input `{}` is a choice and needs `options`",
                input.name.text
            ),
        );
    } else if let Some(default) = default
        && *kind == InputKind::Choice
        && !options.contains(default)
    {
        let message = format!(
            "the default `{default}` of the input `{}` is none of its options",
            input.name.text
        );
        reader.invalid(input.name.at, message);
    }
    input
}

/// The names of the inputs of `workflow_call`. Nothing else of a trigger that never comes is looked into.
fn called_inputs<'n>(node: Option<&'n YamlNode>) -> Vec<String> {
    let entries = |node: Option<&'n YamlNode>| match node.map(|node| &node.kind) {
        Some(YamlKind::Map(entries)) => entries.as_slice(),
        _ => &[],
    };
    let mut of_trigger = entries(node).iter();
    let inputs = of_trigger.find(|(key, _)| key.scalar_text().as_deref() == Some("inputs"));
    let inputs = entries(inputs.map(|(_, value)| value)).iter();
    let names = inputs.filter_map(|(key, _)| key.scalar_text());
    names.take(MAX_INPUTS).collect()
}

fn read_kind(reader: &mut Reader<'_>, node: &YamlNode) -> InputKind {
    match node.scalar_text().as_deref() {
        Some("string") => InputKind::Text,
        Some("boolean") => InputKind::Flag,
        Some("number") => InputKind::Number,
        Some("choice") => InputKind::Choice,
        Some("environment") => {
            let message =
                "an input of type `environment` is not supported yet; use `string` or `choice`";
            reader
                .faults()
                .refuse(FaultCode::NotSupportedYet, node.at, message);
            InputKind::Text
        }
        _ => {
            reader.invalid(
                node.at,
                "the type of an input is string, boolean, number or choice",
            );
            InputKind::Text
        }
    }
}
