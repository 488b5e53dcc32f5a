//! Texts of the file into values, as far as they are known while planning.

use std::collections::BTreeMap;

use super::context::is_known;
use super::model::{Planned, PlannedConcurrency};
use super::script::{Outside, takes_outside};
use crate::expression::{
    ALL_VARIABLES, EvalContext, ExprFault, ExprValue, render_value, render_variables, to_number,
    to_text,
};
use crate::fault::{FaultCode, FaultList};
use crate::read::{ConcurrencyModel, TextAt};
use crate::yaml::place_in_text;

pub(super) struct Resolver<'r, 'f, 'c> {
    faults: &'r mut FaultList<'f>,
    context: EvalContext<'c>,
}

impl<'r, 'f, 'c> Resolver<'r, 'f, 'c> {
    pub(super) fn new(faults: &'r mut FaultList<'f>, context: EvalContext<'c>) -> Self {
        Self { faults, context }
    }

    pub(super) fn faults(&mut self) -> &mut FaultList<'f> {
        self.faults
    }

    pub(super) fn context(&self) -> &EvalContext<'c> {
        &self.context
    }

    /// Whether the text has nothing in it that only a running job knows.
    pub(super) fn knows(&self, text: &str) -> bool {
        is_known(text, &|name| self.context.get(name).is_some()).unwrap_or(true)
    }

    /// The value of a text that is known; a fault is reported.
    pub(super) fn value(&mut self, text: &TextAt) -> Option<ExprValue> {
        match render_value(&text.text, &self.context) {
            Ok(value) => Some(value),
            Err(fault) => {
                self.fault(FaultCode::WorkflowInvalid, text, &fault);
                None
            }
        }
    }

    pub(super) fn fault(&mut self, code: FaultCode, text: &TextAt, fault: &ExprFault) {
        let at = place_in_text(self.faults.lines(), text.at, &text.text, fault.span.start);
        self.faults.refuse(code, at, fault.message.clone());
    }

    pub(super) fn text(&mut self, text: &TextAt) -> Planned<String> {
        // Texts without expressions count too: a matrix has each as often as it has rows.
        let paid = self
            .context
            .budget()
            .map_or(Ok(()), |budget| budget.spend(text.text.len()));
        if let Err(message) = paid {
            self.faults.invalid(text.at, message);
            Planned::Value(String::new())
        } else if self.knows(&text.text) {
            let value = self.value(text).unwrap_or_default();
            Planned::Value(to_text(&value))
        } else {
            Planned::Template(text.text.clone())
        }
    }

    pub(super) fn texts(
        &mut self,
        entries: &[(TextAt, TextAt)],
    ) -> BTreeMap<String, Planned<String>> {
        let mut texts = BTreeMap::new();
        for (name, value) in entries {
            match name.text.as_str() {
                ALL_VARIABLES => texts.extend(self.variables(value)),
                name => drop(texts.insert(name.to_owned(), self.text(value))),
            }
        }
        texts
    }

    /// The variables that one expression makes.
    fn variables(&mut self, text: &TextAt) -> Vec<(String, Planned<String>)> {
        if !self.knows(&text.text) {
            let template = Planned::Template(text.text.clone());
            return vec![(ALL_VARIABLES.to_owned(), template)];
        }
        match render_variables(&text.text, &self.context) {
            Ok(variables) => {
                let variables = variables.into_iter();
                let planned = variables.map(|(name, value)| (name, Planned::Value(value)));
                planned.collect()
            }
            Err(fault) => {
                self.fault(FaultCode::WorkflowInvalid, text, &fault);
                Vec::new()
            }
        }
    }

    /// Refuses variables all of which are made of text from outside. A value may be any, but not a name: what is in `BASH_ENV`,
    /// for one, is run.
    pub(super) fn check_variables(&mut self, env: &[(TextAt, TextAt)], outside: Outside<'_>) {
        let all = env.iter().filter(|(name, _)| name.text == ALL_VARIABLES);
        for (_, text) in all.filter(|(_, text)| takes_outside(&text.text, outside)) {
            let message =
                "the names of these variables come from outside; write each as `NAME: ${{ … }}`";
            let faults = self.faults();
            faults.refuse(FaultCode::UnsafeInterpolation, text.at, message);
        }
    }

    pub(super) fn flag(&mut self, text: Option<&TextAt>, default: bool) -> Planned<bool> {
        self.typed(text, default, |value| match value {
            ExprValue::Bool(value) => Some(*value),
            ExprValue::Text(text) if text == "true" => Some(true),
            ExprValue::Text(text) if text == "false" => Some(false),
            _ => None,
        })
    }

    pub(super) fn number(&mut self, text: Option<&TextAt>, default: f64) -> Planned<f64> {
        self.typed(text, default, |value| {
            let number = to_number(value);
            let is_written = !matches!(value, ExprValue::Null | ExprValue::Bool(_));
            (is_written && number.is_finite() && number > 0.0).then_some(number)
        })
    }

    fn typed<T>(
        &mut self,
        text: Option<&TextAt>,
        default: T,
        read: impl Fn(&ExprValue) -> Option<T>,
    ) -> Planned<T> {
        let Some(text) = text else {
            return Planned::Value(default);
        };
        if !self.knows(&text.text) {
            return Planned::Template(text.text.clone());
        }
        let value = self.value(text);
        let read = value.as_ref().and_then(read);
        if let (None, Some(value)) = (&read, &value) {
            let message = format!(
                "the value here is `{}`, which is of the wrong kind",
                to_text(value)
            );
            self.faults.invalid(text.at, message);
        }
        Planned::Value(read.unwrap_or(default))
    }

    pub(super) fn concurrency(
        &mut self,
        concurrency: Option<&ConcurrencyModel>,
    ) -> Option<PlannedConcurrency> {
        let concurrency = concurrency?;
        let group = self.text(&concurrency.group);
        if matches!(&group, Planned::Value(group) if group.trim().is_empty()) {
            self.faults
                .invalid(concurrency.group.at, "the concurrency group is empty");
        }
        Some(PlannedConcurrency {
            group,
            cancel_in_progress: self.flag(concurrency.cancel.as_ref(), false),
            is_single: concurrency.is_single,
        })
    }
}
