//! The steps of a job, with those of the actions that they use after each.

use std::collections::BTreeMap;

use super::model::{Planned, PlannedStep, StepAction};
use super::resolve::Resolver;
use super::step::{StepSurroundings, plan_step};
use crate::expression::ExprValue;
use crate::local::{LocalAction, LocalActions};
use crate::read::{DefaultsModel, StepBody, StepModel};

/// Plans steps one after another. Each number is that of its place.
pub(super) struct StepsPlanner<'p> {
    actions: &'p LocalActions,
    /// For each step, the names with text from outside behind them.
    outside: &'p [Vec<String>],
    planned: Vec<PlannedStep>,
}

impl<'p> StepsPlanner<'p> {
    pub(super) fn new(actions: &'p LocalActions, outside: &'p [Vec<String>]) -> Self {
        Self {
            actions,
            outside,
            planned: Vec::new(),
        }
    }

    pub(super) fn into_planned(self) -> Vec<PlannedStep> {
        self.planned
    }

    pub(super) fn add(
        &mut self,
        resolver: &mut Resolver<'_, '_, '_>,
        steps: &[StepModel],
        (job, file): (&DefaultsModel, &DefaultsModel),
        within: Option<usize>,
    ) {
        for step in steps {
            let at = self.planned.len();
            let around = StepSurroundings {
                job,
                file,
                within,
                outside: self.outside.get(at).map_or(&[], Vec::as_slice),
            };
            let planned = plan_step(resolver, step, at + 1, &around);
            self.planned.push(planned);
            if let StepBody::Local(directory) = &step.body
                && let Some(action) = self.actions.get(directory)
            {
                self.add_action(resolver, action, at);
            }
        }
    }

    /// Plans the steps of an action, and has the step that uses it say what they are given and put out.
    fn add_action(&mut self, resolver: &mut Resolver<'_, '_, '_>, action: &LocalAction, at: usize) {
        let outer = resolver.context().clone();
        let mut faults = action.faults();
        let inputs = inputs(
            &mut Resolver::new(&mut faults, outer.clone()),
            action,
            &self.planned[at].with,
        );
        let context = match values(&inputs) {
            Some(inputs) => outer.with("inputs", inputs),
            None => outer.without("inputs"),
        };
        // What the workflow says of its shells and directories is not for actions.
        let none = DefaultsModel::default();
        let mut inner = Resolver::new(&mut faults, context);
        self.add(
            &mut inner,
            &action.model.steps,
            (&none, &none),
            Some(at + 1),
        );
        let end = self.planned.len();
        let step = &mut self.planned[at];
        step.with = inputs;
        if let StepAction::Composite { last, outputs, .. } = &mut step.action {
            *last = end;
            let of_action = action.model.outputs.iter();
            *outputs = of_action
                .map(|(name, value)| (name.text.clone(), value.text.clone()))
                .collect();
        }
        resolver.faults().absorb(faults);
    }
}

/// All inputs of an action: as they are given, else their defaults.
fn inputs(
    resolver: &mut Resolver<'_, '_, '_>,
    action: &LocalAction,
    with: &BTreeMap<String, Planned<String>>,
) -> BTreeMap<String, Planned<String>> {
    let inputs = action.model.inputs.iter().map(|input| {
        let name = &input.name.text;
        let mut given = with.iter();
        let given = given.find(|(given, _)| given.eq_ignore_ascii_case(name));
        let value = match (given, &input.default) {
            (Some((_, value)), _) => value.clone(),
            (None, Some(default)) => resolver.text(default),
            (None, None) => Planned::Value(String::new()),
        };
        (name.clone(), value)
    });
    inputs.collect()
}

/// The context `inputs`; none if some are known only when the job runs.
fn values(inputs: &BTreeMap<String, Planned<String>>) -> Option<ExprValue> {
    let values = inputs.iter().map(|(name, value)| match value {
        Planned::Value(value) => Some((name.as_str(), ExprValue::text(value.as_str()))),
        Planned::Template(_) => None,
    });
    let values: Option<Vec<_>> = values.collect();
    values.map(ExprValue::object)
}
