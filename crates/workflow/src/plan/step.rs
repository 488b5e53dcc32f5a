//! A step of the plan.

use std::collections::BTreeMap;

use super::model::{Planned, PlannedStep, StepAction};
use super::resolve::Resolver;
use super::script::{Outside, check_known};
use crate::expression::to_text;
use crate::fault::FaultCode;
use crate::read::{BuiltIn, DefaultsModel, StepBody, StepModel, TextAt};

/// What a step takes from around it.
pub(super) struct StepSurroundings<'s> {
    pub job: &'s DefaultsModel,
    pub file: &'s DefaultsModel,
    /// The number of the step whose action it is a part of.
    pub within: Option<usize>,
    /// Names with text from outside behind them.
    pub outside: &'s [String],
}

impl StepSurroundings<'_> {
    fn outside(&self) -> Outside<'_> {
        Outside {
            names: self.outside,
            is_action: self.within.is_some(),
        }
    }
}

pub(super) fn plan_step(
    resolver: &mut Resolver<'_, '_, '_>,
    step: &StepModel,
    number: usize,
    around: &StepSurroundings<'_>,
) -> PlannedStep {
    let uses = step.uses.as_ref();
    let uses = uses.map_or_else(String::new, |uses| uses.text.clone());
    let mut working_directory = None;
    let action = match &step.body {
        StepBody::Run { script, shell } => {
            let directories = [
                &step.working_directory,
                &around.job.working_directory,
                &around.file.working_directory,
            ];
            working_directory = directories
                .into_iter()
                .flatten()
                .next()
                .map(|text| resolver.text(text));
            let shells = [shell, &around.job.shell, &around.file.shell];
            let shell = shells
                .into_iter()
                .flatten()
                .next()
                .map(|shell| shell.text.as_str());
            StepAction::Run {
                script: plan_script(resolver, script, around.outside()),
                shell: shell_argv(shell),
                background: step.is_background,
            }
        }
        StepBody::Uses(action) => {
            if *action == BuiltIn::Checkout {
                check_checkout(resolver, &step.with);
            }
            StepAction::Uses {
                action: action.clone(),
                uses,
            }
        }
        // Its steps come after it, which only then says what the action puts out.
        StepBody::Local(directory) => StepAction::Composite {
            uses,
            directory: directory.clone(),
            last: number,
            outputs: BTreeMap::new(),
        },
        StepBody::Skipped => StepAction::Skipped { uses },
        StepBody::Wait(steps) => StepAction::Wait {
            steps: steps.iter().map(|id| id.text.clone()).collect(),
        },
        StepBody::WaitAll => StepAction::WaitAll,
        StepBody::Cancel(id) => StepAction::Cancel {
            step: id.text.clone(),
        },
    };
    resolver.check_variables(&step.env, around.outside());
    let name = match &step.name {
        Some(name) => resolver.text(name),
        None => Planned::Value(default_name(step)),
    };
    let (line, _) = resolver.faults().lines().place(step.at);
    let timeout = step.timeout.as_ref();
    PlannedStep {
        number,
        id: step.id.as_ref().map(|id| id.text.clone()),
        name,
        within: around.within,
        line,
        condition: step
            .condition
            .as_ref()
            .map(|condition| condition.text.clone()),
        action,
        with: resolver.texts(&step.with),
        env: resolver.texts(&step.env),
        working_directory,
        timeout_minutes: timeout.map(|timeout| resolver.number(Some(timeout), 360.0)),
        continue_on_error: resolver.flag(step.continue_on_error.as_ref(), false),
        outside: around.outside.to_vec(),
    }
}

fn plan_script(
    resolver: &mut Resolver<'_, '_, '_>,
    script: &TextAt,
    outside: Outside<'_>,
) -> Planned<String> {
    if let Err(found) = check_known(&script.text, resolver.context(), outside) {
        resolver.fault(found.code, script, &found.fault);
        return Planned::Value(String::new());
    }
    resolver.text(script)
}

/// A job begins with its commit checked out, so a step may ask for nothing but that.
fn check_checkout(resolver: &mut Resolver<'_, '_, '_>, with: &[(TextAt, TextAt)]) {
    for (name, text) in with {
        let same: &[&str] = match name.text.as_str() {
            "repository" => &["repository"],
            "ref" => &["sha", "ref", "ref_name"],
            _ => continue,
        };
        let asked = match resolver.text(text) {
            Planned::Value(asked) => asked,
            Planned::Template(template) => template,
        };
        let github = resolver
            .context()
            .get("github")
            .cloned()
            .unwrap_or_default();
        let is_same = same
            .iter()
            .any(|name| to_text(&github.property(name)) == asked);
        if !is_same && !asked.is_empty() {
            let message = format!(
                "this step checks out `{asked}`, which is not what the job is at; another `{}` is not supported yet",
                name.text
            );
            resolver
                .faults()
                .refuse(FaultCode::NotSupportedYet, name.at, message);
        }
    }
}

/// As GitHub starts them: a script without `shell` runs without `pipefail`.
fn shell_argv(shell: Option<&str>) -> Vec<String> {
    let command = match shell {
        None => "bash -e {0}",
        Some("bash") => "bash --noprofile --norc -eo pipefail {0}",
        Some("sh") => "sh -e {0}",
        Some("python") => "python {0}",
        Some(command) => command,
    };
    command.split_whitespace().map(str::to_owned).collect()
}

fn default_name(step: &StepModel) -> String {
    match &step.body {
        StepBody::Run { script, .. } => {
            let first = script.text.trim_start().lines().next().unwrap_or_default();
            format!("Run {first}")
        }
        StepBody::Uses(_) | StepBody::Local(_) | StepBody::Skipped => {
            let uses = step.uses.as_ref().map(|uses| uses.text.as_str());
            format!("Run {}", uses.unwrap_or_default())
        }
        StepBody::Wait(_) | StepBody::WaitAll => "Wait".to_owned(),
        StepBody::Cancel(id) => format!("Cancel {}", id.text),
    }
}
