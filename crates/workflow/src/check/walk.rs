//! Every text of a file that may have expressions, with what may be named in it.

use super::names::{NameScope, fault_of, matrix_keys};
use super::rules::{self, TextRule};
use crate::expression::{ExprFault, Mentions, TemplatePart, condition_text, parse, parts};
use crate::fault::FaultList;
use crate::local::{LocalAction, LocalActions};
use crate::read::{
    AxisModel, ConcurrencyModel, DefaultsModel, FileModel, JobModel, MatrixModel, StepBody,
    StepModel, TextAt,
};
use crate::yaml::{YamlKind, YamlNode, place_in_text};

pub(crate) fn check_file(faults: &mut FaultList<'_>, file: &FileModel, actions: &LocalActions) {
    for action in actions.values() {
        let mut own = action.faults();
        check_action(&mut own, action, actions);
        faults.absorb(own);
    }
    let scope = NameScope {
        file: Some(file),
        actions,
        job: None,
        action: None,
        matrix_keys: None,
        steps: &[],
        steps_before: 0,
    };
    let mut checker = Checker { faults, scope };
    checker.texts(file.run_name.iter(), &rules::FILE);
    checker.env(&file.env, &rules::FILE_ENV);
    checker.defaults(&file.defaults, &rules::FILE);
    checker.concurrency(file.concurrency.as_ref(), &rules::FILE);
    for job in &file.jobs {
        checker.job(job);
    }
}

/// Of the matrix of the job that uses the action nothing is known: jobs with others may use it too.
fn check_action(faults: &mut FaultList<'_>, action: &LocalAction, actions: &LocalActions) {
    let scope = NameScope {
        file: None,
        actions,
        job: None,
        action: None,
        matrix_keys: None,
        steps: &action.model.steps,
        steps_before: 0,
    };
    let mut checker = Checker { faults, scope };
    let defaults = action.model.inputs.iter();
    checker.texts(
        defaults.filter_map(|input| input.default.as_ref()),
        &rules::ACTION_DEFAULT,
    );
    checker.scope.action = Some(action);
    checker.steps(&action.model.steps);
    checker.env(&action.model.outputs, &rules::ACTION_OUTPUT);
}

struct Checker<'c, 'f, 'm> {
    faults: &'c mut FaultList<'f>,
    scope: NameScope<'m>,
}

impl<'m> Checker<'_, '_, 'm> {
    fn job(&mut self, job: &'m JobModel) {
        self.scope.job = Some(job);
        self.scope.matrix_keys = job.strategy.matrix.as_ref().and_then(matrix_keys);
        (self.scope.steps, self.scope.steps_before) = (&job.steps, 0);
        self.texts(job.name.iter(), &rules::JOB);
        self.condition(job.condition.as_ref(), &rules::JOB_IF);
        self.texts(job.runs_on.iter(), &rules::JOB);
        self.env(&job.env, &rules::JOB_ENV);
        self.defaults(&job.defaults, &rules::DEFAULTS);
        self.strategy(job);
        self.texts(
            job.timeout.iter().chain(&job.continue_on_error),
            &rules::JOB,
        );
        self.concurrency(job.concurrency.as_ref(), &rules::JOB);
        self.steps(&job.steps);
        self.texts(job.outputs.iter().map(|(_, value)| value), &rules::OUTPUTS);
    }

    fn steps(&mut self, steps: &[StepModel]) {
        for (at, step) in steps.iter().enumerate() {
            self.scope.steps_before = at;
            self.step(step);
        }
        self.scope.steps_before = steps.len();
    }

    fn step(&mut self, step: &StepModel) {
        let (of_if, rule) = match self.scope.action {
            Some(_) => (&rules::ACTION_IF, &rules::ACTION_STEP),
            None => (&rules::STEP_IF, &rules::STEP),
        };
        self.condition(step.condition.as_ref(), of_if);
        let texts = step.name.iter().chain(&step.working_directory);
        self.texts(
            texts.chain(&step.timeout).chain(&step.continue_on_error),
            rule,
        );
        self.env(&step.env, rule);
        self.env(&step.with, rule);
        if let StepBody::Run { script, .. } = &step.body {
            self.text(script, rule);
        }
    }

    fn strategy(&mut self, job: &JobModel) {
        let strategy = &job.strategy;
        self.texts(
            strategy.fail_fast.iter().chain(&strategy.max_parallel),
            &rules::STRATEGY,
        );
        match &strategy.matrix {
            None => {}
            Some(MatrixModel::Expression(text)) => self.text(text, &rules::STRATEGY),
            Some(MatrixModel::Axes {
                axes,
                include,
                exclude,
            }) => {
                let axes = axes.iter().map(|(_, axis)| axis);
                for axis in axes.chain(include).chain(exclude) {
                    match axis {
                        AxisModel::Expression(text) => self.text(text, &rules::STRATEGY),
                        AxisModel::Values(nodes) => nodes.iter().for_each(|node| self.node(node)),
                    }
                }
            }
        }
    }

    fn node(&mut self, node: &YamlNode) {
        match &node.kind {
            YamlKind::Text(text) => {
                let text = TextAt {
                    text: text.clone(),
                    at: node.at,
                };
                self.text(&text, &rules::STRATEGY);
            }
            YamlKind::List(items) => items.iter().for_each(|item| self.node(item)),
            YamlKind::Map(entries) => entries.iter().for_each(|(_, value)| self.node(value)),
            YamlKind::Null | YamlKind::Bool(_) | YamlKind::Number(_) => {}
        }
    }

    fn env(&mut self, entries: &[(TextAt, TextAt)], rule: &TextRule) {
        self.texts(entries.iter().map(|(_, value)| value), rule);
    }

    fn defaults(&mut self, defaults: &DefaultsModel, rule: &TextRule) {
        self.texts(defaults.working_directory.iter(), rule);
    }

    fn concurrency(&mut self, concurrency: Option<&ConcurrencyModel>, rule: &TextRule) {
        if let Some(concurrency) = concurrency {
            self.text(&concurrency.group, rule);
            self.texts(concurrency.cancel.iter(), rule);
        }
    }

    fn texts<'t>(&mut self, texts: impl Iterator<Item = &'t TextAt>, rule: &TextRule) {
        texts.for_each(|text| self.text(text, rule));
    }

    fn text(&mut self, text: &TextAt, rule: &TextRule) {
        match parts(&text.text) {
            Ok(parts) => {
                for part in parts {
                    if let TemplatePart::Expression {
                        text: inner,
                        offset,
                    } = part
                    {
                        self.expression(text, inner, offset, rule);
                    }
                }
            }
            Err(fault) => self.fault(text, &fault),
        }
    }

    fn condition(&mut self, text: Option<&TextAt>, rule: &TextRule) {
        let Some(text) = text else { return };
        match condition_text(&text.text) {
            Ok(Some((inner, offset))) => self.expression(text, inner, offset, rule),
            Ok(None) => {}
            Err(fault) => self.fault(text, &fault),
        }
    }

    fn expression(&mut self, text: &TextAt, inner: &str, offset: usize, rule: &TextRule) {
        let tree = match parse(inner) {
            Ok(tree) => tree,
            Err(fault) => return self.fault(text, &fault.after(offset)),
        };
        let mentions = Mentions::of(&tree);
        let mut found = Vec::new();
        for mention in &mentions.contexts {
            let fault = fault_of(mention, rule, &self.scope);
            found.extend(fault.map(|message| ExprFault::new(mention.span.clone(), message)));
        }
        if let Some(span) = mentions.status.filter(|_| !rule.has_status) {
            let message = "success, failure, always and cancelled stand only in `if`";
            found.push(ExprFault::new(span, message));
        }
        if let Some(span) = mentions.hash_files.filter(|_| !rule.has_files) {
            found.push(ExprFault::new(
                span,
                "hashFiles stands only in steps: before them no files are there",
            ));
        }
        for fault in found {
            self.fault(text, &fault.after(offset));
        }
    }

    fn fault(&mut self, text: &TextAt, fault: &ExprFault) {
        let at = place_in_text(self.faults.lines(), text.at, &text.text, fault.span.start);
        self.faults.invalid(at, fault.message.clone());
    }
}
