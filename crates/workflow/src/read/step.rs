//! A step of a job.

use super::actions::{BuiltIn, InputSupport, name_of};
use super::model::{StepBody, StepModel, TextAt};
use super::reader::Reader;
use super::suggest::suggestion;
use crate::fault::{FaultCode, FaultList};
use crate::yaml::{YamlKind, YamlNode};

/// Keys that say what a step is; a step has one of them.
const BODIES: [&str; 5] = ["run", "uses", "wait", "wait-all", "cancel"];
const FOREIGN_SHELLS: [&str; 3] = ["pwsh", "powershell", "cmd"];

/// Reads a step of a job or of an action: `level` says which.
pub(super) fn read_step(
    reader: &mut Reader<'_>,
    node: &YamlNode,
    level: &'static str,
) -> Option<StepModel> {
    let keys = reader.keys(node, level);
    if !matches!(node.kind, YamlKind::Map(_)) {
        return None;
    }
    let mut step = StepModel {
        at: node.at,
        id: None,
        name: None,
        condition: None,
        body: StepBody::WaitAll,
        uses: None,
        with: Vec::new(),
        env: Vec::new(),
        working_directory: None,
        timeout: None,
        continue_on_error: None,
        is_background: false,
    };
    let mut body = None;
    let mut shell = None;
    let mut with_at = None;
    let mut bodies = keys.iter().filter(|(key, ..)| BODIES.contains(key));
    if let (Some((first, ..)), Some((second, at, _))) = (bodies.next(), bodies.next()) {
        reader.invalid(
            at.at,
            format!("a step has either `{first}` or `{second}`; make two steps of it"),
        );
    }
    for (key, at, value) in &keys {
        match *key {
            "id" => step.id = read_id(reader, value),
            "name" => step.name = reader.text(value, key),
            "if" => step.condition = reader.text(value, key),
            "run" => {
                body = reader.full_text(value, key).map(|script| StepBody::Run {
                    script,
                    shell: None,
                });
            }
            "shell" => shell = reader.full_text(value, key),
            "uses" => {
                step.uses = reader.full_text(value, key);
                body = step.uses.as_ref().and_then(|uses| read_uses(reader, uses));
            }
            "with" => {
                with_at = Some(at.at);
                step.with = reader.text_map(value, key);
            }
            "wait" => body = Some(StepBody::Wait(reader.texts(value, key))),
            "wait-all" => {
                if !value.is_null() && !reader.plain_flag(value, key) {
                    reader.invalid(value.at, "`wait-all` is true, or the step is left out");
                }
                body = Some(StepBody::WaitAll);
            }
            "cancel" => body = reader.full_text(value, key).map(StepBody::Cancel),
            "env" => step.env = reader.env(value),
            "working-directory" => step.working_directory = reader.full_text(value, key),
            "timeout-minutes" => step.timeout = reader.number(value, key),
            "continue-on-error" => step.continue_on_error = reader.flag(value, key),
            _ => step.is_background = reader.plain_flag(value, key),
        }
    }
    let has_body = |name: &str| keys.iter().any(|(key, ..)| *key == name);
    let Some(mut body) = body else {
        if !BODIES.iter().any(|name| has_body(name)) && !has_parallel(node) {
            reader.invalid(node.at, "a step needs `run` or `uses`");
        }
        return None;
    };
    check_company(reader, &keys, &body);
    if let StepBody::Run { shell: of_step, .. } = &mut body {
        *of_step = shell;
    }
    if let (StepBody::Uses(action), with_at) = (&body, with_at.unwrap_or(node.at)) {
        check_with(reader, action, &step, with_at);
    }
    step.body = body;
    Some(step)
}

/// `parallel` was refused already.
fn has_parallel(node: &YamlNode) -> bool {
    matches!(&node.kind, YamlKind::Map(entries) if entries.iter().any(|(key, _)| key.scalar_text().as_deref() == Some("parallel")))
}

fn read_id(reader: &mut Reader<'_>, node: &YamlNode) -> Option<TextAt> {
    let id = reader.full_text(node, "id")?;
    if !is_name(&id.text) {
        let message = format!(
            "`{}` is no id; use less than 100 letters, digits, - and _, and begin with a letter or a single _",
            id.text
        );
        reader.invalid(id.at, message);
    }
    Some(id)
}

pub(super) fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        && text.len() < 100
        && !text.starts_with("__")
}

/// Keys that the kind of step has no use for.
fn check_company(
    reader: &mut Reader<'_>,
    keys: &[(&'static str, &YamlNode, &YamlNode)],
    body: &StepBody,
) {
    let foreign: &[&str] = match body {
        StepBody::Run { .. } => &["with"],
        StepBody::Uses(_) | StepBody::Local(_) | StepBody::Skipped => {
            &["shell", "working-directory"]
        }
        StepBody::Wait(_) | StepBody::WaitAll | StepBody::Cancel(_) => &[
            "with",
            "shell",
            "working-directory",
            "env",
            "background",
            "if",
            "timeout-minutes",
        ],
    };
    for (key, at, _) in keys {
        if foreign.contains(key) {
            reader.invalid(
                at.at,
                format!("this kind of step has no `{key}`; remove it"),
            );
        }
    }
    if matches!(body, StepBody::Uses(_) | StepBody::Local(_))
        && let Some((_, at, value)) = keys.iter().find(|(key, ..)| *key == "background")
        && matches!(value.kind, YamlKind::Bool(true))
    {
        let message = "an action in the background is not supported yet; only `run` steps can be";
        reader
            .faults()
            .refuse(FaultCode::NotSupportedYet, at.at, message);
    }
}

fn read_uses(reader: &mut Reader<'_>, uses: &TextAt) -> Option<StepBody> {
    let name = name_of(&uses.text);
    if uses.text.contains("${{") {
        reader.invalid(
            uses.at,
            "`uses` cannot have expressions; write the action out",
        );
        return None;
    }
    if reader.skips(name) {
        let message =
            format!("`{name}` is skipped here: `skip_actions` of the configuration names it");
        reader
            .faults()
            .warn(FaultCode::ActionNotSupported, uses.at, message);
        return Some(StepBody::Skipped);
    }
    if uses.text.starts_with("./") {
        return Some(read_local(reader, uses));
    }
    let Some(action) = BuiltIn::of(&uses.text) else {
        if !reader.is_lenient() {
            let message = format!(
                "the action `{name}` is not built in; do it in a `run` step, or have the operator add it to `skip_actions`"
            );
            reader
                .faults()
                .refuse(FaultCode::ActionNotSupported, uses.at, message);
        }
        // The step stays, so that what names its id is not refused too.
        return Some(StepBody::Skipped);
    };
    if !uses.text.contains('@') {
        reader.invalid(
            uses.at,
            format!("`{name}` has no version; write `{name}@v4` or the like"),
        );
    }
    Some(StepBody::Uses(action))
}

/// An action of the same commit. Steps of a job that is never run here may use any, so it is not looked at there.
fn read_local(reader: &mut Reader<'_>, uses: &TextAt) -> StepBody {
    let parts = || {
        uses.text
            .split('/')
            .filter(|part| !matches!(*part, "" | "."))
    };
    if parts().any(|part| part == "..") {
        let message = format!(
            "`{}` leaves the repository; write a path inside of it",
            uses.text
        );
        reader.invalid(uses.at, message);
        return StepBody::Skipped;
    }
    match reader.is_lenient() {
        true => StepBody::Skipped,
        false => StepBody::Local(parts().collect::<Vec<_>>().join("/")),
    }
}

fn check_with(reader: &mut Reader<'_>, action: &BuiltIn, step: &StepModel, at: usize) {
    let uses = step.uses.as_ref().map_or("", |uses| name_of(&uses.text));
    for (name, value) in &step.with {
        match action.input(&name.text) {
            InputSupport::Taken => {}
            // It asks for nothing.
            InputSupport::NotYet if matches!(value.text.as_str(), "" | "false") => {}
            InputSupport::NotYet => {
                let message = format!(
                    "`{}` of `{uses}` is not supported yet; remove it",
                    name.text
                );
                reader
                    .faults()
                    .refuse(FaultCode::NotSupportedYet, name.at, message);
            }
            InputSupport::Unknown => {
                let hint = suggestion(&name.text, action.inputs().iter().copied());
                reader.invalid(
                    name.at,
                    format!("`{uses}` has no input `{}`{hint}", name.text),
                );
            }
        }
    }
    for required in action.required() {
        if !step.with.iter().any(|(name, _)| name.text == *required) {
            reader.invalid(at, format!("`{uses}` needs `{required}` in its `with`"));
        }
    }
}

/// The program of a shell that only other systems have.
pub(crate) fn foreign_shell(shell: &str) -> Option<&str> {
    let program = shell.split_whitespace().next();
    program.filter(|program| FOREIGN_SHELLS.contains(program))
}

pub(crate) fn refuse_shell(faults: &mut FaultList<'_>, shell: &TextAt, program: &str) {
    let message = format!(
        "the shell `{program}` is not here; use `bash`, `sh` or `python`, or an `if` that does not hold on Linux"
    );
    faults.invalid(shell.at, message);
}

/// Refuses a shell that is not there; the shell of a step is its own, its job's or its file's.
pub(super) fn check_shell(reader: &mut Reader<'_>, shell: &TextAt) {
    if let Some(program) = foreign_shell(&shell.text) {
        if !reader.is_lenient() {
            refuse_shell(reader.faults(), shell, program);
        }
    } else if shell.text.contains("${{") {
        reader.invalid(
            shell.at,
            "`shell` cannot have expressions; write the shell out",
        );
    } else if !matches!(shell.text.as_str(), "bash" | "sh" | "python")
        && !shell.text.contains("{0}")
    {
        let message = format!(
            "`{}` is no shell; use `bash`, `sh`, `python`, or a command with {{0}} for the script",
            shell.text
        );
        reader.invalid(shell.at, message);
    }
}
